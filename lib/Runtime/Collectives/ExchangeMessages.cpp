// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ExchangeMessages.h"

#include <algorithm>
#include <span>

namespace shoal::rt {

/// The index of `begin` of the whole in a tensor that starts at `origin`.
static std::vector<int64_t> placeOf(const std::vector<int64_t> &begin,
                                    const std::vector<int64_t> &origin) {
  std::vector<int64_t> place;
  place.reserve(begin.size());
  for (size_t d = 0; d < begin.size(); ++d)
    place.push_back(begin[d] - origin[d]);
  return place;
}

/// Where the box's elements lie one after another in memory: the number of the
/// first; otherwise -1.
static int64_t denseAt(const Box &box, const std::vector<int64_t> &shape) {
  int64_t at = 0;
  bool cut = false;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (cut && box.extent[d] != shape[d])
      return -1;
    // Behind a dimension of which more than one row is there, all must be.
    cut |= box.extent[d] > 1;
    at = at * shape[d] + box.begin[d];
  }
  return at;
}

/// Rows [begin, begin + count) of a dimension of a box.
static Box rowsOf(Box box, size_t dim, int64_t begin, int64_t count) {
  box.begin[dim] += begin;
  box.extent[dim] = count;
  return box;
}

/// Calls visit(part) with boxes that make up the elements [first, first +
/// count) of `box` in row-major order, from dimension `dim` on, in this order:
/// at most two for each dimension, less one.
template <typename Visitor>
static void forEachPart(const Box &box, size_t dim, int64_t first,
                        int64_t count, Visitor &&visit) {
  std::span<const int64_t> behind = std::span(box.extent).subspan(dim + 1);
  int64_t rowElements = support::numElements(behind);
  while (count > 0) {
    int64_t row = first / rowElements, offset = first % rowElements;
    bool cutsRow = offset != 0 || count < rowElements;
    int64_t rows = cutsRow ? 1 : count / rowElements;
    int64_t taken =
        cutsRow ? std::min(count, rowElements - offset) : rows * rowElements;
    Box part = rowsOf(box, dim, row, rows);
    if (cutsRow)
      forEachPart(part, dim + 1, offset, taken, visit);
    else
      visit(part);
    first += taken;
    count -= taken;
  }
}

namespace {

/// Elements [begin, end) of a box, which lie in staging from `at` on.
struct Interval {
  int64_t begin, end;
  int64_t at = 0;
};

/// Gives messages their places. Of a box that does not lie dense in the tensor,
/// the union of the transfers' parts is staged, as disjoint intervals. So it
/// has no more elements than the transfers together, nor than the box: what is
/// staged is at most what is sent or received, and of sends at most the volume
/// of the boxes. The compiler counts both (shoal::exchangeTraffic), and gives
/// the call as much scratch.
class Placer {
public:
  Placer(const std::vector<int64_t> &origin, const std::vector<int64_t> &shape)
      : origin(origin), shape(shape) {}

  /// Transfers of one box.
  void place(std::span<const Transfer> transfers) {
    Box box{placeOf(transfers[0].box.begin, origin), transfers[0].box.extent};
    int64_t dense = denseAt(box, shape);
    std::vector<Interval> intervals;
    if (dense < 0)
      intervals = stage(box, transfers);
    for (const Transfer &transfer : transfers) {
      int64_t at = dense + transfer.first;
      for (const Interval &interval : intervals)
        if (interval.begin <= transfer.first && transfer.first < interval.end)
          at = interval.at + transfer.first - interval.begin;
      messages.list.push_back({transfer.rank, dense < 0, at, transfer.count});
    }
  }

  Messages messages;

private:
  std::vector<Interval> stage(const Box &box,
                              std::span<const Transfer> transfers) {
    std::vector<Interval> intervals = unite(transfers);
    for (Interval &interval : intervals) {
      interval.at = messages.stagedElements;
      forEachPart(box, /*dim=*/0, interval.begin, interval.end - interval.begin,
                  [&](const Box &part) {
                    messages.staged.push_back({part, messages.stagedElements});
                    messages.stagedElements += part.volume();
                  });
    }
    return intervals;
  }

  /// The elements of the transfers: disjoint intervals, which do not meet.
  static std::vector<Interval> unite(std::span<const Transfer> transfers) {
    std::vector<Interval> all, united;
    for (const Transfer &transfer : transfers)
      all.push_back({transfer.first, transfer.first + transfer.count});
    std::ranges::sort(all, {}, &Interval::begin);
    for (const Interval &next : all)
      if (!united.empty() && next.begin <= united.back().end)
        united.back().end = std::max(united.back().end, next.end);
      else
        united.push_back(next);
    return united;
  }

  const std::vector<int64_t> &origin, &shape;
};

} // namespace

static Messages place(const std::vector<Transfer> &transfers,
                      const std::vector<int64_t> &origin,
                      const std::vector<int64_t> &shape) {
  Placer placer(origin, shape);
  auto areOfTwoBoxes = [](const Transfer &a, const Transfer &b) {
    return a.box != b.box;
  };
  for (auto begin = transfers.begin(); begin != transfers.end();) {
    auto end = std::adjacent_find(begin, transfers.end(), areOfTwoBoxes);
    if (end != transfers.end())
      ++end;
    placer.place({begin, end});
    begin = end;
  }
  return std::move(placer.messages);
}

PlannedExchange planMessages(const ExchangeCall &call,
                             const Topology &topology) {
  ExchangeSpec spec{&topology.mesh(call.sourceMesh),
                    &topology.mesh(call.targetMesh), call.dims};
  ExchangePlan plan = planExchange(spec, topology.rank());
  return {.call = call,
          .inShape = plan.inShape,
          .outShape = plan.outShape,
          .sends = place(plan.sends, plan.inBegin, plan.inShape),
          .receives = place(plan.receives, plan.outBegin, plan.outShape),
          .localExtent = plan.local.extent,
          .localFrom = placeOf(plan.local.begin, plan.inBegin),
          .localTo = placeOf(plan.local.begin, plan.outBegin),
          .sent = plan.sent(),
          .received = plan.received()};
}

const PlannedExchange &findExchange(const int64_t *desc,
                                    const Topology &topology) {
  static PlanCache<PlannedExchange> plans;
  return plans.get<ExchangeCall>(desc, [&](const ExchangeCall &call) {
    return planMessages(call, topology);
  });
}

} // namespace shoal::rt
