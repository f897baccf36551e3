// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reverse-mode differentiation of a block of ops.

#ifndef SHOAL_TRANSFORMS_AUTODIFF_DIFFERENTIATE_H
#define SHOAL_TRANSFORMS_AUTODIFF_DIFFERENTIATE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace shoal {

/// A value of the block, and its cotangent.
struct Seed {
  mlir::Value value, cotangent;
};

/// Builds the backward pass of `block`, in front of its terminator: the ops
/// between `wrt` and the seeds' values are visited from the last to the first,
/// and each adds to its operands' cotangents by its rule
/// (DifferentiableOpInterface). What the rules read of the forward pass are
/// ordinary uses.
///
/// Returns a gradient for each of `wrt`, zeros for what no seed depends on; or
/// reports the op that has no rule, or refuses.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
buildGradients(mlir::Block &block, mlir::ValueRange wrt,
               llvm::ArrayRef<Seed> seeds);

} // namespace shoal

#endif // SHOAL_TRANSFORMS_AUTODIFF_DIFFERENTIATE_H
