// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Graph.h"

using namespace shoal::remat;

llvm::SmallVector<unsigned> shoal::remat::rootsOf(const Graph &graph,
                                                  unsigned value) {
  std::optional<unsigned> maker = graph.values[value].maker;
  if (!maker || !graph.ops[*maker].isView)
    return {value};
  const GraphOp &view = graph.ops[*maker];
  llvm::SmallVector<unsigned> roots;
  for (size_t i = 0; i < view.operands.size(); ++i)
    if (view.results.size() != view.operands.size() || view.results[i] == value)
      for (unsigned root : rootsOf(graph, view.operands[i]))
        roots.push_back(root);
  return roots;
}
