// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Between arrays of devices and lists of mesh axes.

#ifndef SHOAL_SHARDING_DEVICEASSIGNMENT_H
#define SHOAL_SHARDING_DEVICEASSIGNMENT_H

#include "shoal/Sharding/Mesh.h"
#include <optional>

namespace shoal {

/// A digit of the row-major position in a mesh: of the positions
/// p = ... + digit * stride + ..., with digit in 0 ... size - 1.
struct PositionDigit {
  int64_t stride, size;
};

/// The (sub-)axes of `mesh`, major to minor, that make up the digit; nothing
/// where it cuts an axis at a place that does not divide it. `mesh` has whole
/// axes.
std::optional<std::vector<MeshAxis>> axesOfDigit(PositionDigit digit,
                                                 const Mesh &mesh);

/// For an array of devices of shape `tile`, row-major, the (sub-)axes that its
/// every dimension runs over; nothing where the array is not such a tiling of
/// `mesh`. The array holds every device once.
std::optional<std::vector<std::vector<MeshAxis>>>
axesOfAssignment(llvm::ArrayRef<int64_t> tile, llvm::ArrayRef<int64_t> devices,
                 const Mesh &mesh);

/// The axes that dimensions of sizes `tile` run over when the array is in the
/// mesh's own row-major order.
std::optional<std::vector<std::vector<MeshAxis>>>
axesInOrder(llvm::ArrayRef<int64_t> tile, const Mesh &mesh);

} // namespace shoal

#endif // SHOAL_SHARDING_DEVICEASSIGNMENT_H
