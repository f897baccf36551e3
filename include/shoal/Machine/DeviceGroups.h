// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the members of a collective's groups lie on the levels of a cluster.
//
// Devices are numbered with the innermost level fastest: of 4 islands of 8, the
// devices 8 ... 15 are the second island. Device numbers are row-major over the
// axes of a mesh, the last axis innermost, so that which axis lies in an island
// is a matter of their order. On a mesh <["dp" = 4, "ep" = 8]> a group over
// "ep" has the counts [8, 1], one over "dp" [1, 4].

#ifndef SHOAL_MACHINE_DEVICEGROUPS_H
#define SHOAL_MACHINE_DEVICEGROUPS_H

#include "shoal/Machine/Cluster.h"
#include "shoal/Support/Result.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace shoal {

/// A mesh axis, or a part of one: `size` devices whose numbers are `stride`
/// apart, the product of the sizes of what lies within it.
struct AxisSpan {
  int64_t size = 1;
  int64_t stride = 1;
};

/// Of each level, innermost first: of one unit of it, in how many units of the
/// level below a group has members. The product is the group's size.
using GroupCounts = llvm::SmallVector<int64_t, 4>;

/// Of all groups over these axes, in O(axes * levels) whatever their sizes.
/// What is more than the cluster has counts at its last level.
GroupCounts countMembers(const Cluster &cluster, llvm::ArrayRef<AxisSpan> axes);

/// The devices of each group over these axes of a mesh whose position p is
/// device deviceIds[p].
std::vector<llvm::SmallVector<int64_t>>
listGroups(llvm::ArrayRef<AxisSpan> axes, llvm::ArrayRef<int64_t> deviceIds);

/// Of groups of devices that are in an order of their own; an error where
/// groups differ, as then none stands for all.
support::Result<GroupCounts>
countListedMembers(const Cluster &cluster,
                   llvm::ArrayRef<llvm::SmallVector<int64_t>> groups);

/// Of all groups over these axes of a mesh whose position p is device
/// deviceIds[p], or device p where there are none.
support::Result<GroupCounts> countMembers(const Cluster &cluster,
                                          llvm::ArrayRef<AxisSpan> axes,
                                          llvm::ArrayRef<int64_t> deviceIds);

} // namespace shoal

#endif // SHOAL_MACHINE_DEVICEGROUPS_H
