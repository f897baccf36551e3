// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/ReshardPlan.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;
using llvm::ArrayRef;

llvm::StringRef shoal::nameOf(StepKind kind) {
  switch (kind) {
  case StepKind::Slice:
    return "slice";
  case StepKind::ToPartial:
    return "to_partial";
  case StepKind::ReduceScatter:
    return "reduce_scatter";
  case StepKind::AllToAll:
    return "all_to_all";
  case StepKind::CollectivePermute:
    return "collective_permute";
  case StepKind::AllReduce:
    return "all_reduce";
  case StepKind::AllGather:
    return "all_gather";
  case StepKind::Exchange:
    return "exchange";
  case StepKind::Relabel:
    return "relabel";
  case StepKind::Reshape:
    return "reshape";
  }
  llvm_unreachable("all kinds are listed");
}

/// The dimension that `axis` splits; -1 for none.
static int64_t dimOf(const Sharding &sharding, AxisId axis) {
  for (auto [d, axes] : llvm::enumerate(sharding.dims))
    if (llvm::is_contained(axes, axis))
      return d;
  return -1;
}

ShardingDelta shoal::describeStep(const Sharding &before,
                                  const Sharding &after) {
  ShardingDelta delta;
  delta.added.resize(before.dims.size());
  delta.removed.resize(before.dims.size());
  for (auto [d, axes] : llvm::enumerate(before.dims))
    for (AxisId axis : axes) {
      int64_t to = dimOf(after, axis);
      if (to == static_cast<int64_t>(d))
        continue;
      if (to < 0) {
        delta.removed[d].push_back(axis);
        continue;
      }
      AxisMove *last = delta.moves.empty() ? nullptr : &delta.moves.back();
      if (last && last->sourceDim == static_cast<int64_t>(d) &&
          last->targetDim == to)
        last->axes.push_back(axis);
      else
        delta.moves.push_back({{axis}, static_cast<int64_t>(d), to});
    }
  for (auto [d, axes] : llvm::enumerate(after.dims))
    for (AxisId axis : axes)
      if (dimOf(before, axis) < 0)
        delta.added[d].push_back(axis);
  for (AxisId axis : before.partial)
    if (!llvm::is_contained(after.partial, axis))
      delta.partialRemoved.push_back(axis);
  for (AxisId axis : after.partial)
    if (!llvm::is_contained(before.partial, axis))
      delta.partialAdded.push_back(axis);
  return delta;
}

AxisPermutation shoal::describePermute(const Sharding &before,
                                       const Sharding &after,
                                       const Mesh &mesh) {
  AxisPermutation permutation;
  auto add = [](AxisList &list, ArrayRef<AxisId> axes) {
    list.append(axes.begin(), axes.end());
  };
  for (auto [from, to] : llvm::zip_equal(before.dims, after.dims)) {
    if (from == to)
      continue;
    add(permutation.source, from);
    add(permutation.target, to);
  }
  // Axes that one list lacks are idle there; they trade places.
  AxisList onlyTarget, onlySource;
  for (AxisId axis : permutation.target)
    if (!llvm::is_contained(permutation.source, axis))
      onlyTarget.push_back(axis);
  for (AxisId axis : permutation.source)
    if (!llvm::is_contained(permutation.target, axis))
      onlySource.push_back(axis);
  add(permutation.source, onlyTarget);
  add(permutation.target, onlySource);
  return permutation;
}
