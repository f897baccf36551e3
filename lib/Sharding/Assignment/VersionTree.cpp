// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Plan.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace shoal;
using namespace shoal::assignment;

// A tree grows from the layout that the value is made in. The examples are of
// f32[64, 32], of 8,192 bytes, on <["x" = 2, "y" = 4]>, made as [{"x"}, {}].
// Its users need it as [{}, {"x"}] and whole. What moves cost:
//
//        from \ to          [{}, {"x"}]   [{}, {}]
//        [{"x"}, {}]              2,048      4,096     all_to_all, all_gather
//        [{}, {"x"}]                  -      4,096     all_gather
//        [{}, {}]                     0          -     slice

namespace {
/// The node that a new layout is made from, and what that costs.
struct Attachment {
  unsigned parent = 0;
  double cost = std::numeric_limits<double>::infinity();
};
} // namespace

/// Where a new layout attaches most cheaply: [{}, {"x"}]
///
///   to {[{"x"}, {}]}             {parent 0, 2,048}
///   to {[{"x"}, {}], [{}, {}]}   {parent 1, 0}, a part of what is there
///
/// The first of equal ones: whole, behind both of the others, is made from
/// node 0.
static Attachment attach(CostTables &tables, unsigned value,
                         const VersionTree &tree, LayoutId layout) {
  Attachment best;
  for (auto [i, node] : llvm::enumerate(tree.nodes)) {
    double cost = tables.reshard(value, node.layout, layout);
    if (cost < best.cost)
      best = {unsigned(i), cost};
  }
  return best;
}

/// Prim's algorithm; layouts that a smaller number of bytes reaches go first.
/// Of [{}, {"x"}], [{}, {}], [{"x", "y"}, {}] and [{"x"}, {"y"}]
///
///   [{"x", "y"}, {}]   0       a slice of what is made
///   [{"x"}, {"y"}]     0       the same
///   [{}, {"x"}]        2,048   all_to_all of what is made
///   [{}, {}]           4,096   all_gather of what is made
///
/// 6,144 in all, where 4,096 would do: [{}, {"x"}] was nearer than what it is a
/// slice of. So few layouts are tried in every order.
static VersionTree attachNearestFirst(CostTables &tables, unsigned value,
                                      LayoutId made,
                                      llvm::ArrayRef<LayoutId> needed) {
  VersionTree tree{{{made, 0}}, 0};
  llvm::SmallVector<LayoutId, 8> left(needed);
  while (!left.empty()) {
    Attachment best;
    size_t which = 0;
    for (auto [i, layout] : llvm::enumerate(left)) {
      Attachment own = attach(tables, value, tree, layout);
      if (own.cost < best.cost)
        best = own, which = i;
    }
    tree.nodes.push_back({left[which], best.parent});
    tree.cost += best.cost;
    left.erase(left.begin() + which);
  }
  return tree;
}

/// Of the two layouts
///
///   [{}, {"x"}], then [{}, {}]   2,048 + 4,096
///   [{}, {}], then [{}, {"x"}]   4,096 + 0       <- cheapest
///
/// so the value is gathered, and sliced for the other user. A sum needed split
/// and whole is not summed up twice: of one that is partial over both axes
/// [{"x", "y"}, {}] is scattered for 7,168 bytes and [{}, {}] gathered from
/// there for as many, where an all_reduce of its own would take 14,336.
VersionTree assignment::findVersionTree(CostTables &tables, unsigned value,
                                        LayoutId made,
                                        llvm::ArrayRef<LayoutId> needed) {
  if (needed.size() > 3)
    return attachNearestFirst(tables, value, made, needed);
  llvm::SmallVector<LayoutId, 3> order(needed);
  llvm::sort(order);
  VersionTree best;
  best.cost = std::numeric_limits<double>::infinity();
  do {
    VersionTree tree{{{made, 0}}, 0};
    for (LayoutId layout : order) {
      Attachment own = attach(tables, value, tree, layout);
      tree.nodes.push_back({layout, own.parent});
      tree.cost += own.cost;
    }
    if (tree.cost < best.cost)
      best = std::move(tree);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}
