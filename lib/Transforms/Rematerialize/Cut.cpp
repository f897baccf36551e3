// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Cut.h"
#include "Closure.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace shoal::remat;

namespace {

/// The closure problem of a segment at a price.
class SegmentProblem {
public:
  SegmentProblem(const Graph &graph, const Segments &segments, unsigned segment,
                 double price)
      : graph(graph), segments(segments), segment(segment), price(price),
        unit(findUnit()) {}

  Cut solve();

private:
  double findUnit() const;
  int64_t toWeight(double cost) const { return std::llround(cost * unit); }
  bool isThere(unsigned value) const;
  bool mayRepeat(unsigned op) const {
    return segments.ofOp[op] == segment && segments.mayRepeat(graph, op);
  }
  unsigned itemOf(unsigned value);
  unsigned repeatOf(unsigned op);
  void addOp(unsigned op);
  void need(unsigned item, unsigned operand);
  double priceOf(unsigned value) const {
    return isThere(value) ? 0 : price * double(graph.values[value].bytes);
  }

  const Graph &graph;
  const Segments &segments;
  unsigned segment;
  double price, unit;
  ClosureProblem problem;
  llvm::DenseMap<unsigned, unsigned> valueItems, opItems;
  /// In the order in which they were met.
  std::vector<unsigned> values, open;
};

} // namespace

/// Weights are whole numbers of 2^-10 operations, or coarser ones so that their
/// sum stays below 2^60.
double SegmentProblem::findUnit() const {
  double sum = segments.cost + 2 * price * segments.bytes;
  return std::min(1024.0, std::exp2(std::floor(58 - std::log2(sum + 1))));
}

/// Whether the value is there in the backward pass without being saved, or
/// comes there by itself.
bool SegmentProblem::isThere(unsigned value) const {
  const GraphValue &v = graph.values[value];
  if (v.isHeld || !v.maker)
    return true;
  const GraphOp &maker = graph.ops[*v.maker];
  return maker.isBackward || maker.isSentAgain;
}

unsigned SegmentProblem::itemOf(unsigned value) {
  auto [entry, isNew] = valueItems.try_emplace(value, 0);
  if (!isNew)
    return entry->second;
  unsigned item = problem.add(toWeight(priceOf(value)));
  valueItems[value] = item;
  values.push_back(value);
  if (!isThere(value) && mayRepeat(*graph.values[value].maker))
    open.push_back(value);
  return item;
}

unsigned SegmentProblem::repeatOf(unsigned op) {
  auto [entry, isNew] = opItems.try_emplace(op, 0);
  if (!isNew)
    return entry->second;
  unsigned item = problem.add(toWeight(graph.ops[op].cost));
  opItems[op] = item;
  for (unsigned value : graph.ops[op].results) {
    problem.require(item, itemOf(value));
    problem.addWeight(item, -toWeight(priceOf(value)));
  }
  for (unsigned operand : graph.ops[op].operands)
    need(item, operand);
  return item;
}

/// The item requires the operand, or what it is a view of.
void SegmentProblem::need(unsigned item, unsigned operand) {
  for (unsigned root : rootsOf(graph, operand))
    problem.require(item, itemOf(root));
}

Cut SegmentProblem::solve() {
  for (unsigned value : segments.needed[segment])
    problem.force(itemOf(value));
  while (!open.empty()) {
    unsigned value = open.back();
    open.pop_back();
    unsigned maker = *graph.values[value].maker;
    unsigned again = repeatOf(maker);
    if (graph.ops[maker].mustRepeat)
      problem.require(valueItems[value], again);
  }
  std::vector<bool> closure = problem.solve();
  Cut cut;
  for (auto [op, item] : opItems)
    if (closure[item])
      cut.repeated.push_back(op);
  llvm::sort(cut.repeated);
  for (unsigned op : cut.repeated)
    cut.cost += graph.ops[op].cost;
  for (unsigned value : values)
    if (closure[valueItems[value]] && !isThere(value) &&
        !llvm::is_contained(cut.repeated, *graph.values[value].maker))
      cut.savedBytes += graph.values[value].bytes;
  return cut;
}

Cut shoal::remat::cutSegment(const Graph &graph, const Segments &segments,
                             unsigned segment, double price) {
  return SegmentProblem(graph, segments, segment, price).solve();
}

std::vector<Cut> shoal::remat::findFrontier(const Graph &graph,
                                            const Segments &segments,
                                            unsigned segment) {
  // Operations a byte: from less than what reading it costs to more than any
  // product's element.
  constexpr int first = -4, last = 40;
  std::vector<Cut> frontier = {cutSegment(graph, segments, segment, 0)};
  for (int half = first; half <= last; ++half) {
    Cut cut = cutSegment(graph, segments, segment, std::exp2(half * 0.5));
    if (cut.savedBytes < frontier.back().savedBytes)
      frontier.push_back(std::move(cut));
  }
  return frontier;
}
