// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ExchangePlan.h"

#include <algorithm>
#include <functional>

namespace shoal::rt {

static int64_t countElements(const std::vector<Transfer> &transfers) {
  int64_t count = 0;
  for (const Transfer &transfer : transfers)
    count += transfer.count;
  return count;
}

int64_t ExchangePlan::sent() const { return countElements(sends); }
int64_t ExchangePlan::received() const { return countElements(receives); }

static int64_t floorDiv(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

/// Calls visit(index) for all tuples with first[d] <= index[d] < end[d].
static void
forEachTuple(const std::vector<int64_t> &first, const std::vector<int64_t> &end,
             const std::function<void(const std::vector<int64_t> &)> &visit) {
  for (size_t d = 0; d < first.size(); ++d)
    if (first[d] >= end[d])
      return;
  std::vector<int64_t> index = first;
  while (true) {
    visit(index);
    size_t d = index.size();
    while (d > 0 && ++index[d - 1] == end[d - 1]) {
      index[d - 1] = first[d - 1];
      --d;
    }
    if (d == 0)
      return;
  }
}

namespace {

struct Range {
  int64_t begin, end;
};

class Planner {
public:
  Planner(const ExchangeSpec &spec, int64_t rank) : spec(spec), me(rank) {
    for (const ExchangeDim &dim : spec.dims) {
      sourceAxes.insert(sourceAxes.end(), dim.source.begin(), dim.source.end());
      targetAxes.insert(targetAxes.end(), dim.target.begin(), dim.target.end());
    }
    holderAxes = spec.source->complement(sourceAxes);
    wanterAxes = spec.target->complement(targetAxes);
    if (sameOrder())
      separateCommonAxes();
    numHolders = shardCount(holderAxes);
    myBlock = blockOf(rank);
    int64_t position = spec.source->positionOf(rank);
    myHolderIndex = spec.source->indexAt(position, holderAxes);
    groupIndex = spec.source->indexAt(position, groupAxes);
  }

  ExchangePlan plan() {
    ExchangePlan plan;
    std::vector<Range> mine = blockRanges(myBlock);
    std::vector<Range> wanted = wantedRanges(wantedIndex());
    for (size_t d = 0; d < spec.dims.size(); ++d) {
      const ExchangeDim &dim = spec.dims[d];
      plan.inBegin.push_back(myBlock[d] * blockRows(dim));
      plan.inShape.push_back(blockRows(dim));
      plan.outBegin.push_back(windowBegin(dim, wantedIndex()[d]));
      plan.outShape.push_back(dim.rows);
    }
    plan.local = intersect(mine, wanted);
    planReceives(wanted, plan);
    planSends(plan);
    return plan;
  }

private:
  using Index = std::vector<int64_t>;

  /// Whether an axis means the same in both meshes.
  bool sameOrder() const {
    return std::ranges::equal(spec.source->axes(), spec.target->axes(), {},
                              &MeshAxis::size, &MeshAxis::size) &&
           std::ranges::equal(spec.source->deviceIds(),
                              spec.target->deviceIds());
  }

  /// Axes that neither end uses make independent groups.
  void separateCommonAxes() {
    groupAxes = commonAxes(holderAxes, wanterAxes);
    Axes used = sourceAxes;
    used.insert(used.end(), groupAxes.begin(), groupAxes.end());
    holderAxes = spec.source->complement(used);
    used = targetAxes;
    used.insert(used.end(), groupAxes.begin(), groupAxes.end());
    wanterAxes = spec.target->complement(used);
  }

  static int64_t blockRows(const ExchangeDim &dim) {
    int64_t p = shardCount(dim.source);
    return (dim.size + p - 1) / p;
  }
  static int64_t windowBegin(const ExchangeDim &dim, int64_t index) {
    return floorDiv(dim.step * index + dim.offset, dim.divisor);
  }
  static Range clamp(const ExchangeDim &dim, int64_t begin, int64_t rows) {
    return {std::clamp<int64_t>(begin, 0, dim.size),
            std::clamp<int64_t>(begin + rows, 0, dim.size)};
  }

  std::vector<Range> blockRanges(const Index &block) const {
    std::vector<Range> ranges;
    for (size_t d = 0; d < spec.dims.size(); ++d) {
      int64_t rows = blockRows(spec.dims[d]);
      ranges.push_back(clamp(spec.dims[d], block[d] * rows, rows));
    }
    return ranges;
  }
  std::vector<Range> wantedRanges(const Index &index) const {
    std::vector<Range> ranges;
    for (size_t d = 0; d < spec.dims.size(); ++d)
      ranges.push_back(clamp(spec.dims[d], windowBegin(spec.dims[d], index[d]),
                             spec.dims[d].rows));
    return ranges;
  }

  static Box intersect(const std::vector<Range> &a,
                       const std::vector<Range> &b) {
    Box box;
    for (size_t d = 0; d < a.size(); ++d) {
      int64_t begin = std::max(a[d].begin, b[d].begin);
      box.begin.push_back(begin);
      box.extent.push_back(
          std::max<int64_t>(std::min(a[d].end, b[d].end) - begin, 0));
    }
    return box;
  }

  Index blockOf(int64_t rank) const {
    Index index;
    int64_t position = spec.source->positionOf(rank);
    for (const ExchangeDim &dim : spec.dims)
      index.push_back(spec.source->indexAt(position, dim.source));
    return index;
  }
  Index wantedIndex() const {
    Index index;
    int64_t position = spec.target->positionOf(me);
    for (const ExchangeDim &dim : spec.dims)
      index.push_back(spec.target->indexAt(position, dim.target));
    return index;
  }

  /// The rank of holder `holder` of a block, in this device's group.
  int64_t holderRank(const Index &block, int64_t holder) const {
    int64_t position = spec.source->member(0, groupAxes, groupIndex);
    for (size_t d = 0; d < spec.dims.size(); ++d)
      position = spec.source->member(position, spec.dims[d].source, block[d]);
    return spec.source->rankAt(
        spec.source->member(position, holderAxes, holder));
  }
  int64_t wanterRank(const Index &wanted, int64_t wanter) const {
    int64_t position = spec.target->member(0, groupAxes, groupIndex);
    for (size_t d = 0; d < spec.dims.size(); ++d)
      position = spec.target->member(position, spec.dims[d].target, wanted[d]);
    return spec.target->rankAt(
        spec.target->member(position, wanterAxes, wanter));
  }

  /// Calls visit(rank, box, elements before) for the devices of the group that
  /// want a part of `block` and do not hold it, in the order in which the
  /// demand is shared out. Returns all elements wanted.
  template <typename Visitor>
  int64_t forEachWanter(const Index &block, Visitor &&visit) const {
    std::vector<Range> ranges = blockRanges(block);
    Index first, end;
    for (size_t d = 0; d < spec.dims.size(); ++d) {
      Range indices = wantingIndices(spec.dims[d], ranges[d]);
      first.push_back(indices.begin);
      end.push_back(indices.end);
    }
    int64_t before = 0;
    forEachTuple(first, end, [&](const Index &wanted) {
      Box box = intersect(ranges, wantedRanges(wanted));
      int64_t volume = box.volume();
      if (volume == 0)
        return;
      for (int64_t w = 0, e = shardCount(wanterAxes); w < e; ++w) {
        int64_t rank = wanterRank(wanted, w);
        if (blockOf(rank) == block)
          continue;
        visit(rank, box, before);
        before += volume;
      }
    });
    return before;
  }

  /// Among these indices are all whose windows meet the rows.
  static Range wantingIndices(const ExchangeDim &dim, Range rows) {
    Range indices{shardCount(dim.target), 0};
    for (int64_t i = 0, e = shardCount(dim.target); i < e; ++i) {
      Range window = clamp(dim, windowBegin(dim, i), dim.rows);
      if (std::max(window.begin, rows.begin) >= std::min(window.end, rows.end))
        continue;
      indices.begin = std::min(indices.begin, i);
      indices.end = i + 1;
    }
    return indices;
  }

  /// Holder h gives the elements from the h-th of these on.
  int64_t shareBegin(int64_t total, int64_t h) const {
    return total / numHolders * h + std::min(total % numHolders, h);
  }

  void planReceives(const std::vector<Range> &wanted, ExchangePlan &plan) {
    Index first, end;
    for (size_t d = 0; d < spec.dims.size(); ++d) {
      bool none = wanted[d].begin >= wanted[d].end;
      int64_t rows = blockRows(spec.dims[d]);
      first.push_back(none ? 0 : wanted[d].begin / rows);
      end.push_back(none ? 0 : (wanted[d].end - 1) / rows + 1);
    }
    forEachTuple(first, end, [&](const Index &block) {
      if (block != myBlock)
        receiveFrom(block, intersect(blockRanges(block), wanted), plan);
    });
  }

  void receiveFrom(const Index &block, const Box &box, ExchangePlan &plan) {
    int64_t volume = box.volume();
    if (numHolders == 1) {
      plan.receives.push_back({holderRank(block, 0), box, 0, volume});
      return;
    }
    int64_t before = 0;
    int64_t total =
        forEachWanter(block, [&](int64_t rank, const Box &, int64_t count) {
          if (rank == me)
            before = count;
        });
    for (int64_t h = 0; h < numHolders; ++h) {
      int64_t begin = std::max(shareBegin(total, h), before);
      int64_t end = std::min(shareBegin(total, h + 1), before + volume);
      if (begin < end)
        plan.receives.push_back(
            {holderRank(block, h), box, begin - before, end - begin});
    }
  }

  void planSends(ExchangePlan &plan) {
    int64_t total =
        forEachWanter(myBlock, [](int64_t, const Box &, int64_t) {});
    int64_t from = shareBegin(total, myHolderIndex);
    int64_t to = shareBegin(total, myHolderIndex + 1);
    forEachWanter(myBlock, [&](int64_t rank, const Box &box, int64_t before) {
      int64_t begin = std::max(from, before);
      int64_t end = std::min(to, before + box.volume());
      if (begin < end)
        plan.sends.push_back({rank, box, begin - before, end - begin});
    });
  }

  const ExchangeSpec &spec;
  int64_t me;
  Axes sourceAxes, targetAxes;
  /// Axes over which the holders of a block, the devices that want one box,
  /// and independent groups differ.
  Axes holderAxes, wanterAxes, groupAxes;
  int64_t numHolders, myHolderIndex, groupIndex;
  Index myBlock;
};

} // namespace

ExchangePlan planExchange(const ExchangeSpec &spec, int64_t rank) {
  return Planner(spec, rank).plan();
}

} // namespace shoal::rt
