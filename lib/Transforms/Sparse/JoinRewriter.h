// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Loops and choices that carry places in place of masks (L14).

#ifndef SHOAL_LIB_TRANSFORMS_SPARSE_JOINREWRITER_H
#define SHOAL_LIB_TRANSFORMS_SPARSE_JOINREWRITER_H

#include "Demand.h"
#include "Emit.h"

namespace shoal::sparse {

/// The op anew, with the joins that are carried and without those that are
/// replaced. What still reads these is dead, or the program does not verify.
class JoinRewriter {
public:
  JoinRewriter(mlir::Operation *op, const Forms &forms, const Demand &demand,
               Emitter &emitter);

  /// Whether there is anything to rewrite.
  bool isNeeded() const { return !added.empty() || !dropped.empty(); }
  /// Puts the new op in front of the old one, whose regions it takes. The old
  /// one stays, as terms speak of its results: it is to be destroyed at the
  /// end.
  mlir::Operation *rewrite();
  /// To be called at the end of each region, when all in front is rewritten.
  void rewriteTerminator(mlir::Operation *terminator);

private:
  /// A term that is carried, with the sources of the join that it is a part of.
  struct Added {
    const CarriedTerm *term;
    /// The operand that each source was, by its op and number.
    llvm::SmallVector<std::pair<mlir::Operation *, unsigned>, 2> sources;
    llvm::SmallVector<mlir::Value, 3> values;
  };

  llvm::SmallVector<mlir::Value> sourcesIn(mlir::Operation *reader);
  void addArguments();
  void dropArguments();
  void replaceResults(mlir::Operation *by);

  mlir::Operation *op;
  Emitter &emitter;
  llvm::SmallVector<Added, 2> added;
  /// Values of joins that go, and the operands that are their sources.
  llvm::SmallVector<mlir::Value> dropped;
  llvm::SmallVector<std::pair<mlir::Operation *, unsigned>> droppedOperands;
};

} // namespace shoal::sparse

#endif // SHOAL_LIB_TRANSFORMS_SPARSE_JOINREWRITER_H
