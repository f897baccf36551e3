// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reads and writes along one dimension at places that a tensor holds, all other
// dimensions going together: the form in which gradients of orders, of running
// extrema and the like are written.

#ifndef SHOAL_LIB_TRANSFORMS_AUTODIFF_ALONG_H
#define SHOAL_LIB_TRANSFORMS_AUTODIFF_ALONG_H

#include "shoal/Dialect/Shoal/IR/TensorBuilder.h"

namespace shoal {

/// Zeros of `type`, plus `updates` at `places` along `dim`; updates and places
/// have one shape, and the type's but along `dim`. Updates of one place add up.
mlir::Value scatterAlong(TensorBuilder &b, mlir::Type type, mlir::Value places,
                         mlir::Value updates, int64_t dim);

/// The rows `by` further along `dim`, zeros where there are none.
mlir::Value shiftDown(TensorBuilder &b, mlir::Value x, int64_t dim, int64_t by);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_AUTODIFF_ALONG_H
