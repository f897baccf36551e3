// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A block that was differentiated, taken apart: what its backward ops read of
// the forward ones, and how the former are built elsewhere.

#ifndef SHOAL_LIB_TRANSFORMS_AUTODIFF_SPLITBLOCK_H
#define SHOAL_LIB_TRANSFORMS_AUTODIFF_SPLITBLOCK_H

#include "mlir/IR/IRMapping.h"
#include "shoal/Transforms/Autodiff/Differentiate.h"
#include "llvm/ADT/SetVector.h"

namespace shoal {

/// The forward ops of a block, and behind them the backward ones.
class SplitBlock {
public:
  /// Differentiates `block`, as buildGradients does, and keeps its gradients.
  static mlir::FailureOr<SplitBlock> differentiate(mlir::Block &block,
                                                   mlir::ValueRange wrt,
                                                   llvm::ArrayRef<Seed> seeds);

  llvm::SmallVector<mlir::Value> gradients;

  /// Values that the block's forward ops make, or that are arguments below
  /// `numArguments`, which backward ops or gradients read, in their order. Of
  /// what `isFree` says, and of constants, those that it is made of; but for
  /// arguments, which it may say of as well.
  llvm::SetVector<mlir::Value>
  findResiduals(unsigned numArguments,
                llvm::function_ref<bool(mlir::Value)> isFree) const;

  void cloneForward(mlir::OpBuilder &builder, mlir::IRMapping &mapping) const;
  /// Residuals are mapped already; free values are cloned with them.
  void cloneBackward(mlir::OpBuilder &builder, mlir::IRMapping &mapping) const;

private:
  SplitBlock(mlir::Block &block, mlir::Operation *marker)
      : block(&block), marker(marker) {}
  bool isForward(mlir::Value value, unsigned numArguments) const;
  void rebuild(mlir::Value value, mlir::OpBuilder &builder,
               mlir::IRMapping &mapping) const;

  mlir::Block *block;
  /// An op between the two.
  mlir::Operation *marker;
};

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_AUTODIFF_SPLITBLOCK_H
