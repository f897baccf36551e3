// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that devices make in several shardings, not move from one to another.

#ifndef SHOAL_LIB_TRANSFORMS_PROPAGATION_COPIES_H
#define SHOAL_LIB_TRANSFORMS_PROPAGATION_COPIES_H

#include "Extract.h"
#include "llvm/ADT/SetVector.h"

namespace shoal {

/// Copies of ops for users that may want the results in different shardings:
/// the search chooses one for each copy, and what is equal in the end is merged
/// again.
///
/// What is made of nothing, as a constant, has one for each user, and for each
/// annotation, from the beginning. What is made of less than it is has one
/// where it was sent in a first search:
///
///   %pred = ...                                 : tensor<64x512xi1>
///   %mask = arith.uitofp %pred : tensor<64x512xi1> to tensor<64x512xf32>
///   %a = arith.mulf %x, %mask                   of rows
///   %b = arith.mulf %y, %mask                   of columns
///
/// gets a second arith.uitofp, so that %pred is sent, a quarter of the bytes.
class Copies {
public:
  explicit Copies(mlir::func::FuncOp function);

  /// For what the assignment sends, though it is made of less, a copy for each
  /// version that is sent, of all ops back to what is least; false for none.
  bool copySent(const ExtractedProblem &extracted,
                const Assignment &assignment);
  /// What an op is a copy of that copySent made; null for others.
  mlir::Operation *originalOf(mlir::Operation *op) const {
    return originals.lookup(op);
  }
  /// The op that any copy is a copy of; itself where it is none.
  mlir::Operation *sourceOf(mlir::Operation *op) const {
    mlir::Operation *source = sources.lookup(op);
    return source ? source : op;
  }
  /// Takes these back.
  void dropSent();

  /// Merges copies of equal operands and shardings, once these are written.
  /// What is kept is told as the first of them in the problem's canonical order
  /// is, whose user no order of the text changes.
  void merge(const ExtractedProblem &extracted);

  /// Those that were merged no more.
  unsigned countKept() const { return numKept; }

private:
  void copyForAnnotations(mlir::func::FuncOp function);
  void copyFree(mlir::func::FuncOp function);
  /// Of copies of ops, by the ops' places in the program.
  void addGroups(
      llvm::SmallVector<
          std::pair<mlir::Operation *, llvm::SmallVector<mlir::Operation *>>, 0>
          copies,
      const llvm::DenseMap<mlir::Operation *, unsigned> &places);

  /// Each op with its copies, those that others read in front of these.
  std::vector<llvm::SmallVector<mlir::Operation *>> groups;
  /// What copySent made in program order of each value, and the uses that it
  /// changed, with what they read.
  llvm::SetVector<mlir::Operation *> made;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> originals, sources;
  std::vector<std::pair<mlir::OpOperand *, mlir::Value>> moved;
  unsigned numKept = 0;
};

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_PROPAGATION_COPIES_H
