// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BlockAddends.h"
#include "CollectivePlan.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;

std::optional<Sharding>
shoal::blocksBeforeAddends(llvm::ArrayRef<int64_t> shape,
                           const Sharding &source, const Sharding &target,
                           const Mesh &mesh) {
  Sharding before = target;
  bool hasAny = false;
  for (auto [size, axes, split] :
       llvm::zip_equal(shape, before.dims, source.dims)) {
    AxisList leaving;
    for (AxisId axis : split)
      if (llvm::is_contained(target.partial, axis))
        leaving.push_back(axis);
    hasAny |= !leaving.empty();
    llvm::erase_if(before.partial, [&](AxisId axis) {
      return llvm::is_contained(leaving, axis);
    });
    if (blocksNest(size, mesh.sizeOf(axes), mesh.sizeOf(leaving)))
      axes.append(leaving);
  }
  return hasAny ? std::optional(before) : std::nullopt;
}
