// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Types and shapes of local values, which are all ranked tensors.

#ifndef SHOAL_LIB_TRANSFORMS_PARTITION_LOCALIZE_SHAPES_H
#define SHOAL_LIB_TRANSFORMS_PARTITION_LOCALIZE_SHAPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace shoal {

inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return typeOf(value).getShape();
}

/// `type` with `size` rows in dimension `dim`.
inline mlir::RankedTensorType withSize(mlir::RankedTensorType type, int64_t dim,
                                       int64_t size) {
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  return type.clone(shape);
}

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_PARTITION_LOCALIZE_SHAPES_H
