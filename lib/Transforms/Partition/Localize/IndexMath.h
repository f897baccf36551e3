// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Arithmetic on the indices of gathers and scatters as they become local. In
// i64, where no sum of a size and an index of another type overflows.

#ifndef SHOAL_LIB_TRANSFORMS_PARTITION_LOCALIZE_INDEXMATH_H
#define SHOAL_LIB_TRANSFORMS_PARTITION_LOCALIZE_INDEXMATH_H

#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "shoal/Transforms/Partition/Localizer.h"

namespace shoal {

class IndexMath {
public:
  explicit IndexMath(Localizer &l) : l(l) {}

  mlir::RankedTensorType type(llvm::ArrayRef<int64_t> shape) const;
  /// A constant everywhere.
  mlir::Value constant(int64_t value, llvm::ArrayRef<int64_t> shape = {});
  /// A tensor of narrower integers, widened.
  mlir::Value widen(mlir::Value value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value subtract(mlir::Value a, mlir::Value b);
  /// Brought into 0 ... limit.
  mlir::Value clamp(mlir::Value value, int64_t limit);
  /// i1: 0 <= value < size.
  mlir::Value isBelow(mlir::Value value, int64_t size);
  /// The first global row that the device holds of a dimension split over
  /// `axes` into shards of `rows` rows: a scalar; null without axes.
  mlir::Value firstRow(llvm::ArrayRef<AxisId> axes, int64_t rows);

  /// Dimension i of `value` becomes dimension dims[i] of a tensor of `shape`.
  mlir::Value place(mlir::Value value, llvm::ArrayRef<int64_t> shape,
                    llvm::ArrayRef<int64_t> dims);
  /// Entry `component` of each index in `indices`, widened: a tensor without
  /// the dimension `indexVectorDim`, where that is a dimension.
  mlir::Value component(mlir::Value indices, int64_t indexVectorDim,
                        int64_t component);
  /// The components, at least one tensor of `shape`, along a new last
  /// dimension. One component stays as it is, the dimension being implied.
  mlir::Value indexVectors(llvm::ArrayRef<mlir::Value> components,
                           llvm::ArrayRef<int64_t> shape);

private:
  Localizer &l;
};

/// `value` on the devices where `keep`, a tensor of i1 whose dimension i is
/// dimension dims[i] of the value, holds; elsewhere `neutral`.
mlir::Value keepWhere(Localizer &l, mlir::Value keep, mlir::Value value,
                      llvm::ArrayRef<int64_t> dims, mlir::TypedAttr neutral);

/// `value` on the first device along `axes`, `neutral` on the others.
mlir::Value keepOnFirst(Localizer &l, mlir::Value value,
                        llvm::ArrayRef<AxisId> axes, mlir::TypedAttr neutral);

/// The reduction of what the devices along `axes` have computed.
mlir::Value reduceOver(Localizer &l, mlir::Value value, ReduceKind kind,
                       llvm::ArrayRef<AxisId> axes);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_PARTITION_LOCALIZE_INDEXMATH_H
