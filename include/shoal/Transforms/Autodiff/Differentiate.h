// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reverse-mode differentiation of a block of ops.

#ifndef SHOAL_TRANSFORMS_AUTODIFF_DIFFERENTIATE_H
#define SHOAL_TRANSFORMS_AUTODIFF_DIFFERENTIATE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseSet.h"

namespace shoal {

/// On a function with a derivative of its own: the names of a function that
/// returns its results and then residuals, and of one that makes cotangents of
/// its arguments, those of floats, of residuals and of cotangents of its
/// results, those of floats.
inline constexpr llvm::StringLiteral kVjpForwardAttr = "shoal.vjp_forward";
inline constexpr llvm::StringLiteral kVjpBackwardAttr = "shoal.vjp_backward";

/// Whether values of the type have cotangents: tensors of floats.
inline bool isDifferentiable(mlir::Type type) {
  return llvm::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(type));
}

/// A value of the block, and its cotangent.
struct Seed {
  mlir::Value value, cotangent;
};

/// The floats of `block` that depend on `wrt` by ops that have gradients, and
/// those of `wrt` themselves.
llvm::DenseSet<mlir::Value> findActive(mlir::Block &block,
                                       mlir::ValueRange wrt);

/// Builds the backward pass of `block`, in front of its terminator: the ops
/// between `wrt` and the seeds' values are visited from the last to the first,
/// and each adds to its operands' cotangents by its rule
/// (DifferentiableOpInterface). What the rules read of the forward pass are
/// ordinary uses. Values of `wrt` may stand around the block; a seed of such a
/// one is what its gradient is added to.
///
/// Returns a gradient for each of `wrt`, zeros for what no seed depends on; or
/// reports the op that has no rule, or refuses.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
buildGradients(mlir::Block &block, mlir::ValueRange wrt,
               llvm::ArrayRef<Seed> seeds);

} // namespace shoal

#endif // SHOAL_TRANSFORMS_AUTODIFF_DIFFERENTIATE_H
