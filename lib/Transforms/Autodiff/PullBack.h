// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Gradients of ops that say the same as others, which have rules.

#ifndef SHOAL_LIB_TRANSFORMS_AUTODIFF_PULLBACK_H
#define SHOAL_LIB_TRANSFORMS_AUTODIFF_PULLBACK_H

#include "shoal/Transforms/Autodiff/Vjp.h"

namespace shoal {

/// Adds to the cotangents of the op's operands those that come back, by the
/// rules of the ops that `write` builds of the operands, from the values that
/// it returns, whose cotangents are `cotangents`. Of the ops built those stay
/// that the gradients read.
llvm::LogicalResult pullBack(
    Vjp &vjp, mlir::ValueRange cotangents,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(TensorBuilder &)> write);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_AUTODIFF_PULLBACK_H
