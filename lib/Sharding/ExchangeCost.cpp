// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/ExchangeCost.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>
#include <optional>

using namespace shoal;

/// Kinds of devices that are looked at, at most: compile time is not to grow
/// with the mesh without end.
static constexpr int64_t kMostCounted = 1 << 14;

BlockLayout shoal::layoutOf(const Sharding &sharding, const Mesh &mesh) {
  llvm::SmallVector<int64_t> strides(mesh.axes.size(), 1);
  for (size_t axis = mesh.axes.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * mesh.axes[axis].size;
  BlockLayout layout;
  layout.deviceIds = mesh.deviceIds;
  for (const AxisList &axes : sharding.dims) {
    auto &digits = layout.dims.emplace_back();
    for (AxisId axis : axes)
      digits.push_back({strides[axis], mesh.axes[axis].size});
  }
  return layout;
}

using Indices = llvm::SmallVector<int64_t, 4>;

static int64_t shardsOf(llvm::ArrayRef<PositionDigit> digits) {
  int64_t shards = 1;
  for (PositionDigit digit : digits)
    shards *= digit.size;
  return shards;
}

namespace {

/// One end of the exchange.
struct End {
  End(llvm::ArrayRef<int64_t> shape, int64_t numDevices,
      const BlockLayout &layout)
      : layout(layout), positions(layout.deviceIds.size()) {
    for (auto [n, digits] : llvm::zip_equal(shape, layout.dims)) {
      shards.push_back(shardsOf(digits));
      rows.push_back(shardSize(n, shards.back()));
      numBlocks *= shards.back();
    }
    copies = numDevices / numBlocks;
    for (auto [position, device] : llvm::enumerate(layout.deviceIds))
      positions[device] = position;
  }

  /// The number of the device's shard of each dimension.
  void indicesOf(int64_t device, Indices &indices) const {
    int64_t position = positions.empty() ? device : positions[device];
    for (auto [index, digits] : llvm::zip_equal(indices, layout.dims)) {
      index = 0;
      for (PositionDigit digit : digits)
        index = index * digit.size + position / digit.stride % digit.size;
    }
  }

  const BlockLayout &layout;
  /// For each dimension.
  Indices shards, rows;
  std::vector<int64_t> positions;
  int64_t numBlocks = 1;
  /// Devices with the same block.
  int64_t copies = 1;
};

/// For each block along a dimension, the rows of it in the windows of all
/// indices. Windows that lie one after another make all of a block's rows.
static std::vector<int64_t> wantedRows(int64_t n, int64_t shards, int64_t rows,
                                       int64_t indices, RowWindow window) {
  // Windows from `first` to `last` have all rows of the blocks between: their
  // number changes at the ends.
  std::vector<int64_t> wanted(shards, 0), change(shards + 1, 0);
  for (int64_t i = 0; i < indices; ++i) {
    RowRange range = window.rangeIn(n, i);
    if (range.begin >= range.end)
      continue;
    int64_t first = range.begin / rows, last = (range.end - 1) / rows;
    wanted[first] -= range.begin - first * rows;
    wanted[last] -= std::min(n, (last + 1) * rows) - range.end;
    ++change[first];
    --change[last + 1];
  }
  int64_t number = 0;
  for (int64_t block = 0; block < shards; ++block) {
    number += change[block];
    wanted[block] += number * (std::min(n, (block + 1) * rows) - block * rows);
  }
  return wanted;
}

/// What devices receive, and what the holders of each block are asked for.
class Tally {
public:
  Tally(llvm::ArrayRef<int64_t> shape, const End &from, const End &to,
        llvm::ArrayRef<RowWindow> windows)
      : shape(shape), from(from), to(to), windows(windows),
        demands(from.numBlocks) {
    for (size_t d = 0; d < shape.size(); ++d)
      wantedRowsOf.push_back(wantedRows(shape[d], from.shards[d], from.rows[d],
                                        to.shards[d], windows[d]));
  }

  /// Counts `devices` that have this shard and want that one.
  void add(const Indices &has, const Indices &wants, int64_t devices) {
    int64_t block = 0, own = 1, boxes = 1, wanted = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t n = shape[d];
      int64_t begin = std::min(n, has[d] * from.rows[d]);
      int64_t end = std::min(n, begin + from.rows[d]);
      RowRange window = windows[d].rangeIn(n, wants[d]);
      own *= std::max<int64_t>(
          std::min(end, window.end) - std::max(begin, window.begin), 0);
      boxes *= wantedRowsOf[d][has[d]];
      wanted *= window.end - window.begin;
      block = block * from.shards[d] + has[d];
    }
    received = std::max(received, wanted - own);
    // `to.copies` devices want each box; those that have the block do not ask.
    Demand &demand = demands[block];
    demand.boxes = boxes;
    demand.others = demand.others.value_or(boxes * to.copies) - own * devices;
  }

  ExchangeTraffic traffic() const {
    ExchangeTraffic traffic{0, 0, received};
    for (const Demand &demand : demands) {
      int64_t sent = shardSize(demand.others.value_or(0), from.copies);
      traffic.sent = std::max(traffic.sent, sent);
      traffic.packed = std::max(traffic.packed, std::min(sent, demand.boxes));
    }
    return traffic;
  }

private:
  /// Of a block: the elements of all boxes that are wanted of it, and what
  /// devices want of it that do not have it.
  struct Demand {
    int64_t boxes = 0;
    std::optional<int64_t> others;
  };

  llvm::ArrayRef<int64_t> shape;
  const End &from, &to;
  llvm::ArrayRef<RowWindow> windows;
  /// For each dimension.
  std::vector<std::vector<int64_t>> wantedRowsOf;
  std::vector<Demand> demands;
  int64_t received = 0;
};

/// A digit of the position that both ends are made of whole ones of, and by how
/// much it moves on the shards of each dimension.
struct CommonDigit {
  PositionDigit digit;
  Indices has, wants;
};

} // namespace

static Indices weightsOf(PositionDigit digit, const BlockLayout &layout) {
  Indices weights;
  for (const auto &digits : layout.dims) {
    int64_t weight = 0, minor = 1;
    for (PositionDigit other : llvm::reverse(digits)) {
      if (other.stride <= digit.stride &&
          digit.stride < other.stride * other.size)
        weight = minor * (digit.stride / other.stride);
      minor *= other.size;
    }
    weights.push_back(weight);
  }
  return weights;
}

/// The digits that neither end cuts, those that matter to one of them; nothing
/// where the ends cut the position at places that do not divide each other.
static std::optional<llvm::SmallVector<CommonDigit>>
commonDigits(const BlockLayout &source, const BlockLayout &target) {
  if (source.deviceIds != target.deviceIds)
    return std::nullopt;
  llvm::SmallVector<int64_t> cuts;
  for (const BlockLayout *layout : {&source, &target})
    for (const auto &digits : layout->dims)
      for (PositionDigit digit : digits)
        cuts.append({digit.stride, digit.stride * digit.size});
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  llvm::SmallVector<CommonDigit> common;
  for (size_t i = 1; i < cuts.size(); ++i) {
    if (cuts[i] % cuts[i - 1] != 0)
      return std::nullopt;
    PositionDigit digit{cuts[i - 1], cuts[i] / cuts[i - 1]};
    Indices has = weightsOf(digit, source), wants = weightsOf(digit, target);
    auto isZero = [](int64_t weight) { return weight == 0; };
    if (!llvm::all_of(has, isZero) || !llvm::all_of(wants, isZero))
      common.push_back({digit, has, wants});
  }
  return common;
}

/// Adds all combinations of the digits, each standing for `devices`.
static void addAll(llvm::ArrayRef<CommonDigit> digits, int64_t devices,
                   Indices &has, Indices &wants, Tally &tally) {
  if (digits.empty())
    return tally.add(has, wants, devices);
  const CommonDigit &first = digits.front();
  auto move = [&](int64_t by) {
    for (size_t d = 0; d < has.size(); ++d) {
      has[d] += by * first.has[d];
      wants[d] += by * first.wants[d];
    }
  };
  for (int64_t i = 0; i < first.digit.size; ++i, move(1))
    addAll(digits.drop_front(), devices, has, wants, tally);
  move(-first.digit.size);
}

/// Upper bounds, for any number of devices: as if none had any element of its
/// windows before.
static ExchangeTraffic boundOf(llvm::ArrayRef<int64_t> shape, const End &from,
                               const End &to,
                               llvm::ArrayRef<RowWindow> windows) {
  int64_t boxes = 1, wanted = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    const RowWindow &window = windows[d];
    // So many windows at most have one row.
    int64_t others = to.shards[d];
    if (window.step != 0)
      others =
          std::min(others, llvm::divideCeilSigned(window.rows * window.divisor,
                                                  std::abs(window.step)));
    boxes *= std::min(shape[d], from.rows[d]) * others;
    wanted *= std::min(shape[d], window.rows);
  }
  // Copies of a small block may ask for less than there are holders of it.
  double asked = double(boxes) * to.copies / from.copies;
  auto sent = static_cast<int64_t>(std::ceil(asked));
  return {sent, std::min(sent, boxes), wanted};
}

ExchangeTraffic shoal::exchangeTraffic(llvm::ArrayRef<int64_t> shape,
                                       int64_t numDevices,
                                       const BlockLayout &source,
                                       const BlockLayout &target,
                                       llvm::ArrayRef<RowWindow> windows) {
  End from(shape, numDevices, source), to(shape, numDevices, target);
  auto digits = commonDigits(source, target);
  int64_t combinations = 1;
  if (digits)
    for (const CommonDigit &common : *digits)
      combinations *= common.digit.size;
  int64_t counted = digits ? combinations : numDevices;
  if (std::max(counted, from.numBlocks) > kMostCounted)
    return boundOf(shape, from, to, windows);
  Tally tally(shape, from, to, windows);
  Indices has(shape.size(), 0), wants(shape.size(), 0);
  if (digits) {
    addAll(*digits, numDevices / combinations, has, wants, tally);
    return tally.traffic();
  }
  for (int64_t device = 0; device < numDevices; ++device) {
    from.indicesOf(device, has);
    to.indicesOf(device, wants);
    tally.add(has, wants, 1);
  }
  return tally.traffic();
}

int64_t shoal::exchangedElements(llvm::ArrayRef<int64_t> shape,
                                 int64_t numDevices, const BlockLayout &source,
                                 const BlockLayout &target) {
  llvm::SmallVector<RowWindow, 4> windows;
  for (auto [n, digits] : llvm::zip_equal(shape, target.dims)) {
    int64_t rows = shardSize(n, shardsOf(digits));
    windows.push_back({rows, 0, 1, rows});
  }
  ExchangeTraffic traffic =
      exchangeTraffic(shape, numDevices, source, target, windows);
  return std::max(traffic.sent, traffic.received);
}
