// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The versions of a value, and what they cost.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_VERSIONTREE_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_VERSIONTREE_H

#include "CostTables.h"

namespace shoal::assignment {

/// How a value gets from the layout its op makes to those that its users need:
/// parents before children, the made one first.
struct VersionTree {
  struct Node {
    LayoutId layout;
    unsigned parent;
  };
  llvm::SmallVector<Node, 4> nodes;
  double cost = 0;
};

/// The cheapest tree that the order of attaching allows: every order is tried
/// for up to three needed layouts, beyond that the nearest goes first.
VersionTree findVersionTree(CostTables &tables, unsigned value, LayoutId made,
                            llvm::ArrayRef<LayoutId> needed);

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_VERSIONTREE_H
