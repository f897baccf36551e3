// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/Mesh.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace shoal;

int64_t Mesh::numDevices() const {
  int64_t product = 1;
  for (const MeshAxis &axis : axes)
    product *= axis.size;
  return product;
}

int64_t Mesh::sizeOf(llvm::ArrayRef<AxisId> list) const {
  int64_t product = 1;
  for (AxisId axis : list)
    product *= axes[axis].size;
  return product;
}

std::vector<int64_t> Mesh::coordinates(int64_t position) const {
  std::vector<int64_t> result(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    result[i] = position % axes[i].size;
    position /= axes[i].size;
  }
  return result;
}

int64_t Mesh::indexOver(llvm::ArrayRef<AxisId> list,
                        llvm::ArrayRef<int64_t> coordinates) const {
  int64_t index = 0;
  for (AxisId axis : list)
    index = index * axes[axis].size + coordinates[axis];
  return index;
}

int64_t Mesh::deviceAt(int64_t position) const {
  return deviceIds.empty() ? position : deviceIds[position];
}

int64_t Mesh::positionOf(int64_t device) const {
  if (deviceIds.empty())
    return device;
  return llvm::find(deviceIds, device) - deviceIds.begin();
}

RowRange shoal::shardRows(int64_t n, int64_t p, int64_t index) {
  int64_t rows = shardSize(n, p);
  return {std::min(n, index * rows), std::min(n, (index + 1) * rows)};
}
