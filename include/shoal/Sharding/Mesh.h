// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A mesh as a plain value: named axes over devices, cut finely enough that
// every sharding of a program is a list of whole axes of it.

#ifndef SHOAL_SHARDING_MESH_H
#define SHOAL_SHARDING_MESH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <string>
#include <vector>

namespace shoal {

/// An axis, or the part of one that a sub-axis names: of an axis of size
/// `fullSize`, the digit of size `size` that has a more major part of size
/// `pre`. A whole axis has pre = 1 and size = fullSize.
struct MeshAxis {
  std::string name;
  int64_t pre = 1;
  int64_t size = 1;
  int64_t fullSize = 1;

  bool isWhole() const { return size == fullSize; }
  bool operator==(const MeshAxis &) const = default;
};

/// Index of an axis in Mesh::axes.
using AxisId = unsigned;
/// Axes of one dimension, major to minor.
using AxisList = llvm::SmallVector<AxisId, 2>;

/// Axes in row-major order; position p of the mesh is device deviceIds[p], or
/// device p where deviceIds is empty. Sub-axes of one axis stand next to each
/// other, major to minor, so that positions do not depend on how the axes were
/// cut.
struct Mesh {
  std::string name;
  std::vector<MeshAxis> axes;
  std::vector<int64_t> deviceIds;

  int64_t numDevices() const;
  /// Product of the axes' sizes.
  int64_t sizeOf(llvm::ArrayRef<AxisId> list) const;
  /// The coordinate on every axis of the mesh position `position`.
  std::vector<int64_t> coordinates(int64_t position) const;
  /// The index over `list`, major to minor, of a device at `coordinates`.
  int64_t indexOver(llvm::ArrayRef<AxisId> list,
                    llvm::ArrayRef<int64_t> coordinates) const;
  /// The device at `position`, and its inverse.
  int64_t deviceAt(int64_t position) const;
  int64_t positionOf(int64_t device) const;

  bool operator==(const Mesh &) const = default;
};

/// ceil(n / p), the rows of a shard, for any n >= 0 and p >= 1.
inline int64_t shardSize(int64_t n, int64_t p) {
  return n / p + (n % p != 0 ? 1 : 0);
}

/// The rows of the whole dimension that shard `index` of `p` holds:
/// [begin, end), empty for a shard past the end.
struct RowRange {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
  bool operator==(const RowRange &) const = default;
};
RowRange shardRows(int64_t n, int64_t p, int64_t index);

} // namespace shoal

#endif // SHOAL_SHARDING_MESH_H
