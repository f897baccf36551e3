// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// all_gather, all_slice and reduce_scatter: where blocks lie in the whole.

#ifndef SHOAL_CALLS_BLOCKS_H
#define SHOAL_CALLS_BLOCKS_H

#include "shoal/Calls/Box.h"
#include "shoal/Calls/CollectiveCalls.h"
#include "shoal/Calls/Sizes.h"

namespace shoal::calls {

/// A tensor cut into blocks along each dimension.
struct Blocks : BlockShapes {
  /// Of all dimensions, dim 0's the most major.
  Axes axes;

  explicit Blocks(BlockShapes shapes) : BlockShapes(std::move(shapes)) {
    for (const Axes &dim : dims)
      axes.insert(axes.end(), dim.begin(), dim.end());
  }

  int64_t numBlocks() const { return shardCount(axes); }

  std::vector<int64_t> shards() const {
    std::vector<int64_t> counts;
    counts.reserve(dims.size());
    for (const Axes &dim : dims)
      counts.push_back(shardCount(dim));
    return counts;
  }

  /// Where the block of a group member begins and how much of it exists.
  Box locate(int64_t member) const {
    Box box{std::vector<int64_t>(whole.size()),
            std::vector<int64_t>(whole.size())};
    for (size_t d = whole.size(); d-- > 0;) {
      int64_t p = shardCount(dims[d]);
      box.begin[d] = member % p * block[d];
      box.extent[d] = rowsBefore(whole[d], box.begin[d], block[d]);
      member /= p;
    }
    return box;
  }

  /// True if every block is full.
  bool even() const {
    return support::numElements(whole) ==
           numBlocks() * support::numElements(block);
  }

  /// True if the blocks lie one after another in the whole, so that the whole
  /// needs no staging; the last ones may be short.
  bool inOrder() const {
    size_t d = 0;
    while (d < whole.size() && block[d] == 1 && shardCount(dims[d]) == 1 &&
           whole[d] == 1)
      ++d;
    for (size_t rest = d + 1; rest < whole.size(); ++rest)
      if (shardCount(dims[rest]) > 1 || whole[rest] != block[rest])
        return false;
    return true;
  }
};

} // namespace shoal::calls

#endif // SHOAL_CALLS_BLOCKS_H
