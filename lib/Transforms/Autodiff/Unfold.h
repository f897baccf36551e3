// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Windows of a tensor, each with its elements in a line.

#ifndef SHOAL_LIB_TRANSFORMS_AUTODIFF_UNFOLD_H
#define SHOAL_LIB_TRANSFORMS_AUTODIFF_UNFOLD_H

#include "shoal/Dialect/Shoal/IR/TensorBuilder.h"
#include "shoal/Sharding/Window.h"

namespace shoal {

/// The tensor of `rows`, the number of windows in each dimension, and of one
/// dimension more, which holds the elements of a window in row-major order;
/// `fill`, a scalar, where there is none. `window` has an entry a dimension of
/// `x`, and there is a window.
///
/// A slice for each place of the window in each dimension: of w x h places w +
/// h slices, which a dimension that is split gets from its neighbours.
mlir::Value unfold(TensorBuilder &b, mlir::Value x,
                   llvm::ArrayRef<WindowDim> window,
                   llvm::ArrayRef<int64_t> rows, mlir::Value fill);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_AUTODIFF_UNFOLD_H
