// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The windows of gather and scatter, read back.

#ifndef SHOAL_LIB_TRANSFORMS_AUTODIFF_INDEXEDREADS_H
#define SHOAL_LIB_TRANSFORMS_AUTODIFF_INDEXEDREADS_H

#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "shoal/Dialect/Shoal/IR/TensorBuilder.h"

namespace shoal {

/// Component k of each index, along `vectorDim`, brought to low[k] ... high[k];
/// in a type of at least 32 bits.
mlir::Value clampIndices(TensorBuilder &b, mlir::Value indices,
                         int64_t vectorDim, llvm::ArrayRef<int64_t> low,
                         llvm::ArrayRef<int64_t> high);

/// The windows of `x`, which has the shape of the scatter's operand, that the
/// updates were put into: of the updates' shape, zero where an update lay
/// outside.
mlir::Value readWindows(TensorBuilder &b, ScatterOp scatter, mlir::Value x);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_AUTODIFF_INDEXEDREADS_H
