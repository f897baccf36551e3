// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Emits the exchanges of shoal/Sharding/SlabExchange.h.

#ifndef SHOAL_LIB_TRANSFORMS_PARTITION_LOCALIZE_SLABS_H
#define SHOAL_LIB_TRANSFORMS_PARTITION_LOCALIZE_SLABS_H

#include "shoal/Transforms/Partition/Localizer.h"

namespace shoal {

using Values = llvm::SmallVector<mlir::Value>;

/// The slabs that each device along `axes` has of its own: tensors of one shape
/// that is the same on all devices. Along `dim` stand their rows, one or more,
/// those of the device with index 0 to come first.
class Slabs {
public:
  /// Computes on the rows of all devices; may be called on tensors that have
  /// only a part of another dimension.
  using Work = llvm::function_ref<Values(mlir::ValueRange)>;

  Slabs(Localizer &l, mlir::ValueRange slabs, int64_t dim,
        mlir::ArrayRef<AxisId> axes);

  /// What `work` makes of the rows of all devices: results with any number of
  /// rows along `dim`, on every device.
  Values combine(Work work);

  /// `work` keeps the number of rows; each device gets its own ones of the
  /// results.
  Values scan(Work work);

private:
  mlir::Value gather(mlir::Value value, int64_t along, int64_t size);
  mlir::Value ownRows(mlir::Value value);
  /// Moves the axes from one dimension to another: `size` is that of `from`
  /// when it is whole.
  mlir::Value move(mlir::Value value, int64_t from, int64_t to, int64_t size,
                   int64_t parts);
  Values shareWork(Work work);
  mlir::ArrayAttr axesAt(int64_t along, int64_t rank);

  Localizer &l;
  Values slabs;
  int64_t dim, shards, rows;
  AxesAttr axes;
  mlir::StringAttr why;
  mlir::RankedTensorType type;
  /// The dimension along which the devices share the work; see sharedSlabDim.
  std::optional<int64_t> shared;
};

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_PARTITION_LOCALIZE_SLABS_H
