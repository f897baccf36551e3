// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/ExchangeCost.h"
#include "llvm/ADT/STLExtras.h"
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

namespace {

using Indices = llvm::SmallVector<int64_t, 4>;

/// One end of the exchange.
struct End {
  End(llvm::ArrayRef<int64_t> shape, int64_t numDevices,
      const BlockLayout &layout)
      : layout(layout), positions(layout.deviceIds.size()) {
    for (auto [n, digits] : llvm::zip_equal(shape, layout.dims)) {
      int64_t p = 1;
      for (PositionDigit digit : digits)
        p *= digit.size;
      shards.push_back(p);
      rows.push_back(shardSize(n, p));
      numBlocks *= p;
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

/// What devices receive, and what the holders of each block are asked for.
class Tally {
public:
  Tally(llvm::ArrayRef<int64_t> shape, const End &from, const End &to)
      : shape(shape), from(from), to(to), asked(from.numBlocks, kUnknown) {}

  /// Counts `devices` that have this shard and want that one.
  void add(const Indices &has, const Indices &wants, int64_t devices) {
    int64_t block = 0, own = 1, old = 1, wanted = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t n = shape[d];
      int64_t a = std::min(n, has[d] * from.rows[d]);
      int64_t b = std::min(n, wants[d] * to.rows[d]);
      int64_t aEnd = std::min(n, a + from.rows[d]);
      int64_t bEnd = std::min(n, b + to.rows[d]);
      own *= std::max<int64_t>(std::min(aEnd, bEnd) - std::max(a, b), 0);
      old *= aEnd - a;
      wanted *= bEnd - b;
      block = block * from.shards[d] + has[d];
    }
    most = std::max(most, wanted - own);
    // Each element of a block is wanted by `to.copies` devices; those that have
    // it do not ask.
    if (asked[block] == kUnknown)
      asked[block] = old * to.copies;
    asked[block] -= own * devices;
  }

  int64_t busiest() const {
    int64_t busiest = most;
    for (int64_t elements : asked)
      if (elements != kUnknown)
        busiest = std::max(busiest, shardSize(elements, from.copies));
    return busiest;
  }

private:
  static constexpr int64_t kUnknown = -1;

  llvm::ArrayRef<int64_t> shape;
  const End &from, &to;
  std::vector<int64_t> asked;
  int64_t most = 0;
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
  if (!source.deviceIds.empty() || !target.deviceIds.empty())
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

/// An upper bound, for any number of devices: as if none had any element of its
/// new block before.
static int64_t boundOf(llvm::ArrayRef<int64_t> shape, const End &from,
                       const End &to) {
  int64_t block = 1, wanted = 1;
  for (auto [n, own, others] : llvm::zip_equal(shape, from.rows, to.rows)) {
    block *= std::min(n, own);
    wanted *= std::min(n, others);
  }
  // Copies of a small block may ask for less than there are holders of it.
  double asked = double(block) * to.copies / from.copies;
  return std::max(wanted, static_cast<int64_t>(std::ceil(asked)));
}

int64_t shoal::exchangedElements(llvm::ArrayRef<int64_t> shape,
                                 int64_t numDevices, const BlockLayout &source,
                                 const BlockLayout &target) {
  End from(shape, numDevices, source), to(shape, numDevices, target);
  auto digits = commonDigits(source, target);
  int64_t combinations = 1;
  if (digits)
    for (const CommonDigit &common : *digits)
      combinations *= common.digit.size;
  int64_t counted = digits ? combinations : numDevices;
  if (std::max(counted, from.numBlocks) > kMostCounted)
    return boundOf(shape, from, to);
  Tally tally(shape, from, to);
  Indices has(shape.size(), 0), wants(shape.size(), 0);
  if (digits) {
    addAll(*digits, numDevices / combinations, has, wants, tally);
    return tally.busiest();
  }
  for (int64_t device = 0; device < numDevices; ++device) {
    from.indicesOf(device, has);
    to.indicesOf(device, wants);
    tally.add(has, wants, 1);
  }
  return tally.busiest();
}
