// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/ExchangeCost.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace shoal;

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

using Box = llvm::SmallVector<RowRange, 4>;

int64_t volumeOf(const Box &box) {
  int64_t product = 1;
  for (RowRange range : box)
    product *= std::max<int64_t>(range.size(), 0);
  return product;
}

int64_t overlapOf(const Box &a, const Box &b) {
  int64_t product = 1;
  for (auto [x, y] : llvm::zip_equal(a, b))
    product *= std::max<int64_t>(
        std::min(x.end, y.end) - std::max(x.begin, y.begin), 0);
  return product;
}

/// One end of the exchange.
class End {
public:
  End(llvm::ArrayRef<int64_t> shape, int64_t numDevices,
      const BlockLayout &layout)
      : shape(shape), layout(layout), positions(layout.deviceIds.size()) {
    for (const auto &digits : layout.dims) {
      int64_t p = 1;
      for (PositionDigit digit : digits)
        p *= digit.size;
      shards.push_back(p);
      numBlocks *= p;
    }
    copies = numDevices / numBlocks;
    for (auto [position, device] : llvm::enumerate(layout.deviceIds))
      positions[device] = position;
  }

  /// The number of the device's block, and its rows.
  std::pair<int64_t, Box> blockOf(int64_t device) const {
    int64_t position = positions.empty() ? device : positions[device];
    int64_t block = 0;
    Box box;
    for (auto [n, p, digits] : llvm::zip_equal(shape, shards, layout.dims)) {
      int64_t index = 0;
      for (PositionDigit digit : digits)
        index = index * digit.size + position / digit.stride % digit.size;
      block = block * p + index;
      box.push_back(shardRows(n, p, index));
    }
    return {block, box};
  }

  llvm::ArrayRef<int64_t> shape;
  const BlockLayout &layout;
  llvm::SmallVector<int64_t, 4> shards;
  std::vector<int64_t> positions;
  int64_t numBlocks = 1;
  /// Devices with the same block.
  int64_t copies = 1;
};

} // namespace

int64_t shoal::exchangedElements(llvm::ArrayRef<int64_t> shape,
                                 int64_t numDevices, const BlockLayout &source,
                                 const BlockLayout &target) {
  End from(shape, numDevices, source), to(shape, numDevices, target);
  // Each element of a block is wanted by `to.copies` devices; those that have
  // it do not ask.
  std::vector<int64_t> asked(from.numBlocks, 0), holders(from.numBlocks, 0);
  int64_t most = 0;
  for (int64_t device = 0; device < numDevices; ++device) {
    auto [block, old] = from.blockOf(device);
    Box wanted = to.blockOf(device).second;
    int64_t own = overlapOf(old, wanted);
    most = std::max(most, volumeOf(wanted) - own);
    if (holders[block]++ == 0)
      asked[block] += volumeOf(old) * to.copies;
    asked[block] -= own;
  }
  for (int64_t elements : asked)
    most = std::max(most, shardSize(elements, from.copies));
  return most;
}
