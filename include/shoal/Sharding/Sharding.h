// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The sharding of a value as a plain value.

#ifndef SHOAL_SHARDING_SHARDING_H
#define SHOAL_SHARDING_SHARDING_H

#include "shoal/Sharding/Mesh.h"

namespace shoal {

/// Which axes split which dimension of a tensor, and over which axes its
/// devices hold addends of a sum that is not yet reduced. Axes that stand
/// nowhere replicate. No axis stands twice.
struct Sharding {
  llvm::SmallVector<AxisList, 4> dims;
  /// In ascending order.
  AxisList partial;

  static Sharding replicated(int64_t rank) {
    Sharding s;
    s.dims.resize(rank);
    return s;
  }
  bool isReplicated() const;
  bool isPartial() const { return !partial.empty(); }
  bool uses(AxisId axis) const;
  bool operator==(const Sharding &) const = default;
};

/// The shape of one device's shard: ceil(n / p) in each dimension.
llvm::SmallVector<int64_t> localShape(llvm::ArrayRef<int64_t> shape,
                                      const Sharding &sharding,
                                      const Mesh &mesh);

/// Bytes of one device's shard; the largest number where there are more.
int64_t localBytes(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                   const Sharding &sharding, const Mesh &mesh);

/// Rows that pad dimension `dim` up to p * ceil(n / p).
int64_t paddedRows(llvm::ArrayRef<int64_t> shape, int64_t dim,
                   const Sharding &sharding, const Mesh &mesh);

/// `<@mesh, [{"x"}, {}], partial = {"y"}>`, as the attribute prints.
std::string toString(const Sharding &sharding, const Mesh &mesh);

} // namespace shoal

#endif // SHOAL_SHARDING_SHARDING_H
