// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Tensors that the bodies of linalg ops read at places of their own choice.

#ifndef SHOAL_LIB_CONVERSION_FUSION_TENSORREADS_H
#define SHOAL_LIB_CONVERSION_FUSION_TENSORREADS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace shoal {

/// What the op's body reads by `tensor.extract`.
llvm::SmallVector<mlir::Value> extractedTensors(mlir::linalg::GenericOp op);

/// Whether an op of the block behind `first` and in front of `last` may write
/// over the tensor, or over what it is a view of, once these are buffers: a
/// read that moved behind such an op would need a copy of the tensor.
bool mayBeWrittenBetween(mlir::Value tensor, mlir::Operation *first,
                         mlir::Operation *last);

/// Whether the reader's loops, which take element (l0, l1, ...) of a value
/// through `map`, a permutation, run through its last dimension fastest, or
/// reduce it: neighbouring threads then read what is neighbouring.
bool keepsLastDim(mlir::linalg::GenericOp reader, mlir::AffineMap map);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_FUSION_TENSORREADS_H
