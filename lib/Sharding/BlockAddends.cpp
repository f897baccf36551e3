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
  auto leaves = [&](AxisId axis) {
    return llvm::is_contained(target.partial, axis);
  };
  // Most reshards make no addends.
  if (llvm::none_of(source.dims, [&](const AxisList &split) {
        return llvm::any_of(split, leaves);
      }))
    return std::nullopt;
  Sharding before = target;
  for (auto [size, axes, split] :
       llvm::zip_equal(shape, before.dims, source.dims)) {
    AxisList leaving;
    llvm::copy_if(split, std::back_inserter(leaving), leaves);
    llvm::erase_if(before.partial, [&](AxisId axis) {
      return llvm::is_contained(leaving, axis);
    });
    if (blocksNest(size, mesh.sizeOf(axes), mesh.sizeOf(leaving)))
      axes.append(leaving);
  }
  return before;
}
