// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Machine/DeviceGroups.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <set>

using namespace shoal;

/// Members of a group over one axis within one unit of `devices`.
static int64_t membersWithin(AxisSpan axis, int64_t devices) {
  int64_t steps = llvm::divideCeil(devices, axis.stride);
  return std::clamp<int64_t>(steps, 1, axis.size);
}

GroupCounts shoal::countMembers(const Cluster &cluster,
                                llvm::ArrayRef<AxisSpan> axes) {
  GroupCounts counts(cluster.levels.size(), 1);
  for (AxisSpan axis : axes) {
    int64_t devices = 1, below = 1;
    for (auto [count, level] : llvm::zip(counts, cluster.levels)) {
      devices *= level.size;
      bool isLast = &level == &cluster.levels.back();
      int64_t here = isLast ? axis.size : membersWithin(axis, devices);
      count *= llvm::divideCeil(here, below);
      below = here;
    }
  }
  return counts;
}

std::vector<llvm::SmallVector<int64_t>>
shoal::listGroups(llvm::ArrayRef<AxisSpan> axes,
                  llvm::ArrayRef<int64_t> deviceIds) {
  // Positions that differ along the axes of a group alone are one.
  llvm::MapVector<int64_t, llvm::SmallVector<int64_t>> groups;
  for (auto [position, device] : llvm::enumerate(deviceIds)) {
    int64_t rest = position;
    for (AxisSpan axis : axes)
      rest -= position / axis.stride % axis.size * axis.stride;
    groups[rest].push_back(device);
  }
  std::vector<llvm::SmallVector<int64_t>> lists;
  for (auto &[rest, group] : groups)
    lists.push_back(std::move(group));
  return lists;
}

/// Of one group: members of a unit of each level, over those of one below.
static GroupCounts countOne(const Cluster &cluster,
                            llvm::ArrayRef<int64_t> group) {
  GroupCounts counts;
  int64_t devices = 1;
  size_t below = group.size();
  for (const Level &level : cluster.levels) {
    devices *= level.size;
    std::set<int64_t> units;
    for (int64_t device : group)
      units.insert(device / devices);
    counts.push_back(llvm::divideCeil(below, units.size()));
    below = units.size();
  }
  counts.back() *= below;
  return counts;
}

support::Result<GroupCounts>
shoal::countListedMembers(const Cluster &cluster,
                          llvm::ArrayRef<llvm::SmallVector<int64_t>> groups) {
  GroupCounts first = countOne(cluster, groups.front());
  for (auto [number, group] : llvm::enumerate(groups))
    if (countOne(cluster, group) != first)
      return support::Error{llvm::formatv(
          "group {0} of the devices {1:$[, ]} lies otherwise on "
          "{2} than group 0 of {3:$[, ]}",
          number, llvm::make_range(group.begin(), group.end()), cluster.name,
          llvm::make_range(groups.front().begin(), groups.front().end()))};
  return first;
}

support::Result<GroupCounts>
shoal::countMembers(const Cluster &cluster, llvm::ArrayRef<AxisSpan> axes,
                    llvm::ArrayRef<int64_t> deviceIds) {
  if (deviceIds.empty())
    return countMembers(cluster, axes);
  return countListedMembers(cluster, listGroups(axes, deviceIds));
}
