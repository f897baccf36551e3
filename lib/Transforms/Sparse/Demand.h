// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which tensors are made: those that somebody reads as they are.

#ifndef SHOAL_LIB_TRANSFORMS_SPARSE_DEMAND_H
#define SHOAL_LIB_TRANSFORMS_SPARSE_DEMAND_H

#include "Forms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace shoal::sparse {

/// A tensor is whole if an op reads it that does something, or that is not
/// rewritten and itself makes a tensor that is whole, or if what is written
/// for a rewritten one reads it.
class Demand {
public:
  Demand(mlir::func::FuncOp function, Forms &forms);

  /// Whether the op's result is written anew: a contraction by its rewrite;
  /// what has a form, by comparisons, where its op would read rewritten ones.
  bool isRewritten(mlir::Operation *op) const;
  const llvm::DenseSet<mlir::Value> &getWhole() const { return whole; }
  /// What is moved for sums of which only elements at places are made.
  const llvm::MapVector<mlir::Value, Moves> &getSampled() const {
    return sampled;
  }

  /// Whether the values of a join of the op need not be there: they have a
  /// form, and nobody reads them as they are.
  bool isReplaced(mlir::Operation *op, const JoinedForm &joined) const;
  /// Whether a place or value must be carried.
  bool isCarried(const CarriedTerm &term) const;

private:
  void findRewritten(mlir::func::FuncOp function);
  /// The tensors that are read if those of `whole` are there.
  llvm::DenseSet<mlir::Value> walk(mlir::func::FuncOp function);
  /// What is carried where walks do not come to an end: everything.
  void carryAll(mlir::func::FuncOp function);

  Forms &forms;
  llvm::DenseSet<mlir::Operation *> rewritten;
  llvm::DenseSet<mlir::Value> whole;
  llvm::MapVector<mlir::Value, Moves> sampled;
};

} // namespace shoal::sparse

#endif // SHOAL_LIB_TRANSFORMS_SPARSE_DEMAND_H
