// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Small training steps as numbers.

#ifndef SHOAL_TEST_UNIT_TRANSFORMS_REMATERIALIZE_STEPS_H
#define SHOAL_TEST_UNIT_TRANSFORMS_REMATERIALIZE_STEPS_H

#include "Transforms/Rematerialize/Graph.h"

namespace shoal::remat {

/// Adds an op of one result; returns that.
inline unsigned addOp(Graph &graph, llvm::ArrayRef<unsigned> operands,
                      int64_t bytes, double cost, GraphOp op = {}) {
  unsigned value = graph.addValue(bytes);
  op.operands.assign(operands.begin(), operands.end());
  op.results = {value};
  op.cost = cost;
  graph.addOp(std::move(op));
  return value;
}

inline unsigned addBackward(Graph &graph, llvm::ArrayRef<unsigned> operands,
                            int64_t bytes) {
  GraphOp op;
  op.isBackward = true;
  return addOp(graph, operands, bytes, 1, op);
}

/// Layers that each make a large value cheaply and a small one for the next
/// layer dearly; the gradient of a layer reads the large one:
///
///   h = cheap(x), 8 bytes; x' = dear(h), 1 byte;   g = f(g', h), 1 byte
struct Layers {
  explicit Layers(unsigned count) {
    unsigned x = graph.addValue(1);
    for (unsigned layer = 0; layer < count; ++layer) {
      large.push_back(addOp(graph, {x}, 8, 10));
      x = addOp(graph, {large.back()}, 1, 100);
      small.push_back(x);
    }
    unsigned g = addBackward(graph, {x}, 1);
    for (unsigned layer = count; layer-- > 0;)
      g = addBackward(graph, {g, large[layer]}, 1);
    graph.values[g].isHeld = true;
  }

  Graph graph;
  std::vector<unsigned> large, small;
};

} // namespace shoal::remat

#endif // SHOAL_TEST_UNIT_TRANSFORMS_REMATERIALIZE_STEPS_H
