// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a collective costs: the one definition that the planner's prices, the
// statistics of a compiled program and the runtime's counters share.
//
// Counted is what the busiest device of a group of p sends or receives,
// whichever is more, by the ring or pairwise schedule. Padding counts where the
// collective carries it along: the pieces of all_to_all and reduce_scatter and
// the tensor of a collective_permute have one size on all devices, whereas of
// the blocks of an all_gather, and in an exchange, only rows that exist travel.
// How many rows of a ragged_all_to_all travel only the runtime knows, and
// counts; before it runs as many count as the program says, else all that can,
// and that each device gets as many.
//
// Sizes are elements or bytes; shapes are those of the collective's operand and
// result on one device.

#ifndef SHOAL_SUPPORT_COLLECTIVEBYTES_H
#define SHOAL_SUPPORT_COLLECTIVEBYTES_H

#include <algorithm>
#include <cstdint>
#include <span>

namespace shoal::support {

/// All of `whole` but the group's smallest block. Block i along dimension d has
/// the rows i * block[d] ... of whole[d], as far as there are any; `shards` are
/// the blocks along each dimension.
inline int64_t allGatherSize(std::span<const int64_t> whole,
                             std::span<const int64_t> block,
                             std::span<const int64_t> shards) {
  int64_t all = 1, smallest = 1;
  for (size_t d = 0; d < whole.size(); ++d) {
    int64_t begin = (shards[d] - 1) * block[d];
    all *= whole[d];
    smallest *= std::clamp<int64_t>(whole[d] - begin, 0, block[d]);
  }
  return all - smallest;
}

/// A piece for each other device. A dimension that the operand has `cuts` of,
/// and is whole behind it, is cut into that many pieces.
inline int64_t allToAllSize(std::span<const int64_t> operand,
                            std::span<const int64_t> cuts, int64_t p) {
  int64_t piece = 1;
  for (size_t d = 0; d < operand.size(); ++d)
    piece *= (operand[d] + cuts[d] - 1) / cuts[d];
  return (p - 1) * piece;
}

/// (p - 1) / p of the rows that a device gets on average.
inline int64_t raggedAllToAllSize(int64_t rows, int64_t p) {
  return rows - rows / p;
}

/// A block of the result for each other device.
inline int64_t reduceScatterSize(int64_t result, int64_t p) {
  return (p - 1) * result;
}

/// 2 (p - 1) / p of the tensor, rounded up.
inline int64_t allReduceSize(int64_t tensor, int64_t p) {
  int64_t twice = 2 * tensor;
  return twice - twice / p;
}

} // namespace shoal::support

#endif // SHOAL_SUPPORT_COLLECTIVEBYTES_H
