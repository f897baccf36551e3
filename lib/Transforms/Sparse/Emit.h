// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// From terms to ops: an element by its indices becomes a tensor over them.

#ifndef SHOAL_LIB_TRANSFORMS_SPARSE_EMIT_H
#define SHOAL_LIB_TRANSFORMS_SPARSE_EMIT_H

#include "Forms.h"
#include "OpWriter.h"
#include "llvm/ADT/DenseSet.h"

namespace shoal::sparse {

/// Writes tensors for terms; in a dry run it only finds out which tensors of
/// the program are read as they are.
class Emitter {
public:
  /// `whole`: tensors that will be there, whoever else reads them.
  Emitter(Forms &forms, const llvm::DenseSet<mlir::Value> &whole)
      : forms(forms), terms(forms.terms), whole(whole), memo(1) {}

  /// The ops follow this builder's place; none are written without one.
  void setBuilder(mlir::OpBuilder *builder, mlir::Location loc) {
    writer = OpWriter(builder, loc);
  }
  /// What was written in a region is not known behind it.
  void enterRegion() { memo.emplace_back(); }
  void leaveRegion() { memo.pop_back(); }

  /// A tensor by its form or its rewrite, one of which it has.
  mlir::Value emitTensor(mlir::Value tensor);
  /// A term as a tensor over these dimensions.
  mlir::Value emitOver(Term term, TermRange dims) {
    return writer.spread(emit(term), dims).value;
  }
  /// From here on `by` is read where `tensor` is.
  void replace(mlir::Value tensor, mlir::Value by) { replaced[tensor] = by; }

  /// The tensors of the program that were read.
  llvm::DenseSet<mlir::Value> read;
  /// What is moved for sums of which only elements at places were read.
  llvm::MapVector<mlir::Value, Moves> sampled;

private:
  Tensor emit(Term term);
  Tensor emitOp(Term term);
  Tensor emitElement(Term term);
  Tensor emitSum(Term term);
  Tensor gather(Term term);
  mlir::Value emitRows(const Form &rows, mlir::Value result);
  mlir::Value addRow(const Form &rows, const Exception &row, mlir::Value zeros,
                     TermRange index);
  /// The places over `dims`, one array of indices; `dims` grows by those
  /// that places depend on.
  mlir::Value emitPlaces(TermRange places, TermList &dims);
  Term expand(Term element);
  void noteSample(Term element, Term sum);
  mlir::Value readTensor(mlir::Value tensor);

  Forms &forms;
  Terms &terms;
  const llvm::DenseSet<mlir::Value> &whole;
  OpWriter writer;
  llvm::DenseMap<mlir::Value, mlir::Value> replaced;
  llvm::SmallVector<llvm::DenseMap<Term, Tensor>> memo;
  /// The order of dimensions that who asks would like.
  TermList wanted;
  unsigned numExpansions = 0;
};

} // namespace shoal::sparse

#endif // SHOAL_LIB_TRANSFORMS_SPARSE_EMIT_H
