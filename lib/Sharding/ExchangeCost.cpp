// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/ExchangeCost.h"
#include "llvm/ADT/IntEqClasses.h"
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

namespace {

/// Dimensions whose shards follow from the same digits: what a device has and
/// wants along them says nothing of what it has and wants along others.
struct Part {
  llvm::SmallVector<unsigned, 4> dims;
  /// Nothing: those of the whole position, whatever they are.
  std::optional<llvm::SmallVector<CommonDigit>> digits;

  int64_t combinations(int64_t numDevices) const {
    if (!digits)
      return numDevices;
    int64_t number = 1;
    for (const CommonDigit &common : *digits)
      number *= common.digit.size;
    return number;
  }
};

/// Elements that are wanted, and those of them that who wants them has. Along
/// several parts both multiply.
struct Want {
  int64_t all = 1, own = 1;
};

/// Wants none of which is more in all, and less in own, than another one: the
/// rest is the largest difference of no product.
using Wants = llvm::SmallVector<Want, 4>;

/// What devices want of their windows along a part's dimensions, and what all
/// devices together want of each block.
struct PartTraffic {
  Wants received, asked;
};

} // namespace

static Wants largest(Wants wants) {
  llvm::sort(wants, [](const Want &a, const Want &b) {
    return a.all != b.all ? a.all > b.all : a.own < b.own;
  });
  Wants kept;
  for (const Want &want : wants)
    if (kept.empty() || want.own < kept.back().own)
      kept.push_back(want);
  return kept;
}

static Wants product(const Wants &a, const Wants &b) {
  Wants all;
  for (const Want &first : a)
    for (const Want &second : b)
      all.push_back({first.all * second.all, first.own * second.own});
  return largest(std::move(all));
}

/// The parts of the dimensions, by the digits that move on their shards.
static llvm::SmallVector<Part, 4>
partsOf(unsigned rank,
        const std::optional<llvm::SmallVector<CommonDigit>> &digits) {
  if (!digits)
    return {Part{llvm::to_vector<4>(llvm::seq(rank)), std::nullopt}};
  llvm::IntEqClasses classes(rank);
  llvm::SmallVector<unsigned> firstDims;
  for (const CommonDigit &common : *digits) {
    std::optional<unsigned> first;
    for (unsigned d : llvm::seq(rank)) {
      if (common.has[d] == 0 && common.wants[d] == 0)
        continue;
      first = first.value_or(d);
      classes.join(*first, d);
    }
    firstDims.push_back(*first);
  }
  classes.compress();
  llvm::SmallVector<Part, 4> parts(classes.getNumClasses());
  for (unsigned d : llvm::seq(rank))
    parts[classes[d]].dims.push_back(d);
  for (Part &part : parts)
    part.digits.emplace();
  for (auto [common, d] : llvm::zip_equal(*digits, firstDims))
    parts[classes[d]].digits->push_back(common);
  return parts;
}

namespace {

/// The traffic along a part's dimensions.
class PartTally {
public:
  PartTally(const Part &part, llvm::ArrayRef<int64_t> shape, const End &from,
            const End &to, llvm::ArrayRef<RowWindow> windows)
      : part(part), shape(shape), from(from), windows(windows) {
    int64_t blocks = 1;
    for (unsigned d : part.dims) {
      wantedRowsOf.push_back(wantedRows(shape[d], from.shards[d], from.rows[d],
                                        to.shards[d], windows[d]));
      blocks *= from.shards[d];
    }
    demands.assign(blocks, {0, 0});
  }

  /// Counts a device that has this shard and wants that one.
  void add(const Indices &has, const Indices &wants) {
    int64_t block = 0, boxes = 1;
    Want want;
    for (auto [i, d] : llvm::enumerate(part.dims)) {
      int64_t n = shape[d];
      int64_t begin = std::min(n, has[d] * from.rows[d]);
      int64_t end = std::min(n, begin + from.rows[d]);
      RowRange window = windows[d].rangeIn(n, wants[d]);
      want.own *= std::max<int64_t>(
          std::min(end, window.end) - std::max(begin, window.begin), 0);
      want.all *= window.end - window.begin;
      boxes *= wantedRowsOf[i][has[d]];
      block = block * from.shards[d] + has[d];
    }
    received.push_back(want);
    demands[block].all = boxes;
    demands[block].own += want.own;
  }

  /// Adds all combinations of the digits.
  void addAll(llvm::ArrayRef<CommonDigit> digits, Indices &has,
              Indices &wants) {
    if (digits.empty())
      return add(has, wants);
    const CommonDigit &first = digits.front();
    auto move = [&](int64_t by) {
      for (unsigned d : part.dims) {
        has[d] += by * first.has[d];
        wants[d] += by * first.wants[d];
      }
    };
    for (int64_t i = 0; i < first.digit.size; ++i, move(1))
      addAll(digits.drop_front(), has, wants);
    move(-first.digit.size);
  }

  PartTraffic traffic() {
    return {largest(std::move(received)), largest(std::move(demands))};
  }

private:
  const Part &part;
  llvm::ArrayRef<int64_t> shape;
  const End &from;
  llvm::ArrayRef<RowWindow> windows;
  /// For each dimension of the part.
  std::vector<std::vector<int64_t>> wantedRowsOf;
  /// What each device wants.
  Wants received;
  /// Of each block: the elements of all boxes that are wanted of it, and those
  /// that its holders want themselves.
  Wants demands;
};

} // namespace

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

/// `devices` are alike in what they have and want along all dimensions.
static ExchangeTraffic trafficOf(const Wants &received, const Wants &asked,
                                 int64_t devices, const End &from,
                                 const End &to) {
  ExchangeTraffic traffic;
  for (const Want &want : received)
    traffic.received = std::max(traffic.received, want.all - want.own);
  for (const Want &want : asked) {
    // `to.copies` devices want each box; those that have the block do not ask.
    int64_t others = want.all * to.copies - want.own * devices;
    int64_t sent = shardSize(others, from.copies);
    traffic.sent = std::max(traffic.sent, sent);
    traffic.packed = std::max(traffic.packed, std::min(sent, want.all));
  }
  return traffic;
}

ExchangeTraffic shoal::exchangeTraffic(llvm::ArrayRef<int64_t> shape,
                                       int64_t numDevices,
                                       const BlockLayout &source,
                                       const BlockLayout &target,
                                       llvm::ArrayRef<RowWindow> windows) {
  End from(shape, numDevices, source), to(shape, numDevices, target);
  Wants received = {{1, 1}}, asked = {{1, 1}};
  int64_t counted = 1;
  for (const Part &part : partsOf(shape.size(), commonDigits(source, target))) {
    int64_t combinations = part.combinations(numDevices), blocks = 1;
    for (unsigned d : part.dims)
      blocks *= from.shards[d];
    if (std::max(combinations, blocks) > kMostCounted)
      return boundOf(shape, from, to, windows);
    counted *= combinations;
    PartTally tally(part, shape, from, to, windows);
    Indices has(shape.size(), 0), wants(shape.size(), 0);
    if (part.digits)
      tally.addAll(*part.digits, has, wants);
    else
      for (int64_t device = 0; device < numDevices; ++device) {
        from.indicesOf(device, has);
        to.indicesOf(device, wants);
        tally.add(has, wants);
      }
    PartTraffic traffic = tally.traffic();
    received = product(received, traffic.received);
    asked = product(asked, traffic.asked);
  }
  return trafficOf(received, asked, numDevices / counted, from, to);
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
