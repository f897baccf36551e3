// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AxisLists.h"
#include "shoal/Sharding/Mesh.h"

using namespace mlir;
using namespace shoal;

AxesPerDim shoal::toLists(ArrayAttr axes) {
  AxesPerDim lists;
  for (auto list : axes.getAsRange<AxesAttr>())
    lists.emplace_back(list.getAxes());
  return lists;
}

ArrayAttr shoal::toAttr(const AxesPerDim &lists, MLIRContext *context) {
  return ArrayAttr::get(
      context,
      llvm::map_to_vector(lists, [&](const AxisRefs &list) -> Attribute {
        return AxesAttr::get(context, list);
      }));
}

bool shoal::isEmpty(const AxesPerDim &lists) {
  return llvm::all_of(lists, [](auto &list) { return list.empty(); });
}

AxisRefs shoal::concat(const AxisRefs &major, const AxisRefs &minor) {
  AxisRefs both = major;
  llvm::append_range(both, minor);
  return both;
}

AxisRefs shoal::flatten(const AxesPerDim &lists) {
  AxisRefs all;
  for (const AxisRefs &list : lists)
    llvm::append_range(all, list);
  return all;
}

bool shoal::overlap(const AxesPerDim &a, const AxesPerDim &b, MeshAttr mesh) {
  AxisRefs others = flatten(b);
  return llvm::any_of(flatten(a), [&](AxisRefAttr axis) {
    return llvm::any_of(
        others, [&](AxisRefAttr other) { return overlap(axis, other, mesh); });
  });
}

SmallVector<int64_t> shoal::split(ArrayRef<int64_t> shape,
                                  const AxesPerDim &lists, MeshAttr mesh) {
  SmallVector<int64_t> local;
  for (auto [size, list] : llvm::zip_equal(shape, lists))
    local.push_back(shardSize(size, sizeOf(list, mesh)));
  return local;
}

bool shoal::blocksNest(int64_t size, const AxisRefs &major,
                       const AxisRefs &minor, MeshAttr mesh) {
  if (major.empty() || minor.empty())
    return true;
  int64_t p = sizeOf(major, mesh), q = sizeOf(minor, mesh);
  return shardSize(size, p * q) * q == shardSize(size, p);
}
