// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/ManualAxes.h"

using namespace shoal;

llvm::SmallVector<int64_t> shoal::withManualDim(llvm::ArrayRef<int64_t> shape,
                                                const AxisList &manualAxes,
                                                const Mesh &mesh) {
  llvm::SmallVector<int64_t> all(shape);
  if (!manualAxes.empty())
    all.insert(all.begin(), mesh.sizeOf(manualAxes));
  return all;
}

Sharding shoal::withManualDim(Sharding sharding, const AxisList &manualAxes) {
  if (!manualAxes.empty())
    sharding.dims.insert(sharding.dims.begin(), manualAxes);
  return sharding;
}

Sharding shoal::withoutManualDim(Sharding sharding,
                                 const AxisList &manualAxes) {
  if (manualAxes.empty())
    return sharding;
  assert(sharding.dims.front() == manualAxes && "a step mixes manual shards");
  sharding.dims.erase(sharding.dims.begin());
  return sharding;
}
