// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values that devices make in several shardings, not move from one to another.

#ifndef SHOAL_LIB_TRANSFORMS_PROPAGATION_COPIES_H
#define SHOAL_LIB_TRANSFORMS_PROPAGATION_COPIES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace shoal {

struct ExtractedProblem;

/// Copies of ops whose results are made of less than they are, for users that
/// may want them in different shardings: the search then chooses one for each
/// copy, and what is equal in the end is merged again.
///
///   %pred = ...                     : tensor<64x512xi1>, made once
///   %mask = shoal.convert %pred     : tensor<64x512xf32>, 4 times its bytes
///   %a = arith.mulf %x, %mask
///   %b = shoal.einsum(%mask, %w)
///
/// gets a second shoal.convert for the einsum: where the two want different
/// shardings %pred is what is moved.
class Copies {
public:
  explicit Copies(mlir::func::FuncOp function);

  /// Merges copies of equal operands and shardings, once these are written.
  /// What is kept is told as the first of them in the problem's canonical order
  /// is, whose user no order of the text changes.
  void merge(const ExtractedProblem &extracted);

  /// Those that were merged no more.
  unsigned countKept() const { return numKept; }

private:
  void copyMade(mlir::func::FuncOp function);
  void copyFree(mlir::func::FuncOp function);

  /// What was copied.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> originals;
  /// Each op with its copies; those that others read in front of these.
  std::vector<llvm::SmallVector<mlir::Operation *>> groups;
  unsigned numKept = 0;
};

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_PROPAGATION_COPIES_H
