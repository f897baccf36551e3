// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Segments.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace shoal::remat;

bool Segments::mayRepeat(const Graph &graph, unsigned number) const {
  const GraphOp &op = graph.ops[number];
  return !op.isBackward && op.mayRepeat &&
         (op.isView || llvm::none_of(op.results, [&](unsigned value) {
            return crosses[value];
          }));
}

void Segments::countAll(const Graph &graph) {
  cost = bytes = 0;
  for (const GraphOp &op : graph.ops)
    cost += op.cost;
  for (const GraphValue &value : graph.values)
    bytes += double(value.bytes);
}

namespace {

/// The forward ops of a graph, by their places among themselves.
class ForwardOrder {
public:
  explicit ForwardOrder(const Graph &graph);

  /// Bytes that pass in front of each place, to it and beyond.
  std::vector<int64_t> countCrossing() const;
  /// Whether a segment may end in front of the place.
  bool isOutside(size_t place) const {
    return rematAt(place - 1) != rematAt(place) || rematAt(place) == 0;
  }
  bool mustEnd(size_t place) const {
    return rematAt(place - 1) != rematAt(place);
  }
  size_t size() const { return ops.size(); }
  unsigned opAt(size_t place) const { return ops[place]; }

private:
  unsigned rematAt(size_t place) const { return graph.ops[ops[place]].remat; }

  const Graph &graph;
  std::vector<unsigned> ops;
};

} // namespace

ForwardOrder::ForwardOrder(const Graph &graph) : graph(graph) {
  for (unsigned op = 0; op < graph.ops.size(); ++op)
    if (!graph.ops[op].isBackward)
      ops.push_back(op);
}

std::vector<int64_t> ForwardOrder::countCrossing() const {
  std::vector<size_t> made(graph.values.size()), last(graph.values.size());
  for (size_t place = 0; place < ops.size(); ++place) {
    const GraphOp &op = graph.ops[ops[place]];
    for (unsigned value : op.results)
      made[value] = last[value] = place;
    if (op.isView)
      continue; // who reads the view reads its root
    for (unsigned operand : op.operands)
      for (unsigned root : rootsOf(graph, operand))
        last[root] = place;
  }
  std::vector<int64_t> crossing(ops.size() + 1);
  for (unsigned op : ops)
    for (unsigned value : graph.ops[op].results)
      if (!graph.ops[op].isView && !graph.values[value].isHeld) {
        crossing[made[value] + 1] += graph.values[value].bytes;
        crossing[last[value] + 1] -= graph.values[value].bytes;
      }
  for (size_t place = 1; place < crossing.size(); ++place)
    crossing[place] += crossing[place - 1];
  return crossing;
}

/// The places in front of which segments begin, in order.
static std::vector<size_t> findWaists(const ForwardOrder &order, size_t gap) {
  std::vector<int64_t> crossing = order.countCrossing();
  std::vector<size_t> candidates, waists;
  for (size_t place = 1; place < order.size(); ++place) {
    if (order.mustEnd(place)) {
      waists.push_back(place);
      continue;
    }
    size_t first = place > gap / 2 ? place - gap / 2 : 1;
    size_t end = std::min(place + gap / 2 + 1, order.size());
    int64_t least =
        *std::min_element(crossing.begin() + first, crossing.begin() + end);
    if (order.isOutside(place) && crossing[place] == least)
      candidates.push_back(place);
  }
  llvm::sort(candidates, [&](size_t a, size_t b) {
    return std::pair(crossing[a], a) < std::pair(crossing[b], b);
  });
  for (size_t place : candidates)
    if (place >= gap && llvm::all_of(waists, [&](size_t other) {
          return std::max(place, other) - std::min(place, other) >= gap;
        }))
      waists.push_back(place);
  llvm::sort(waists);
  return waists;
}

/// What forward ops of a segment read of another, and backward ops of each.
static void findReads(const Graph &graph, Segments &segments) {
  segments.crosses.resize(graph.values.size());
  segments.needed.resize(segments.count);
  std::vector<bool> isNeeded(graph.values.size());
  for (auto [number, reader] : llvm::enumerate(graph.ops)) {
    if (reader.isView && !reader.isBackward)
      continue; // who reads the view reads its root
    for (unsigned operand : reader.operands)
      for (unsigned root : rootsOf(graph, operand)) {
        std::optional<unsigned> maker = graph.values[root].maker;
        if (!maker || graph.ops[*maker].isBackward)
          continue;
        if (reader.isBackward)
          isNeeded[root] = true;
        else if (segments.ofOp[*maker] != segments.ofOp[number])
          segments.crosses[root] = true;
      }
  }
  for (size_t value = 0; value < isNeeded.size(); ++value)
    if (isNeeded[value])
      segments.needed[segments.ofOp[*graph.values[value].maker]].push_back(
          value);
}

Segments shoal::remat::findSegments(const Graph &graph, unsigned gap) {
  ForwardOrder order(graph);
  Segments segments;
  segments.ofOp.resize(graph.ops.size());
  std::vector<size_t> waists = findWaists(order, gap);
  size_t next = 0;
  for (size_t place = 0; place < order.size(); ++place) {
    if (next < waists.size() && waists[next] == place)
      ++next;
    segments.ofOp[order.opAt(place)] = next;
  }
  segments.count = waists.size() + 1;
  findReads(graph, segments);
  segments.countAll(graph);
  return segments;
}
