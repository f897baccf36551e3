// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SortLines.h"
#include "KernelLibrary.h"

namespace shoal::rt {

static constexpr int64_t keyBytes = sizeof(uint64_t);
static constexpr int64_t placeBytes = sizeof(int32_t);

LineSorter::LineSorter(const SortLines &lines, Scratch &scratch,
                       cudaStream_t stream)
    : lines(lines), stream(stream), total(lines.lines * lines.count) {
  if (lines.count > INT32_MAX)
    fatal("sorting lines of " + std::to_string(lines.count) +
          " elements, at most 2147483647 are supported");
  auto keys = scratch.take<uint64_t>(2 * total);
  auto places = scratch.take<int32_t>(2 * total);
  auto orderings = scratch.take<int32_t>(2 * total);
  for (int i = 0; i < 2; ++i) {
    keysOf[i] = keys.data() + i * total;
    placesOf[i] = places.data() + i * total;
    orders[i] = orderings.data() + i * total;
  }
}

SortedLines LineSorter::sortKeys() {
  int64_t tiles = (lines.count + sortTile - 1) / sortTile;
  launch(stream, "shoal_sort_tiles", blocksFor(lines.lines * tiles, 1),
         SortTilesParameters{lines, keysOf[0], placesOf[0]},
         {{keysOf[0], total * keyBytes, Access::ReadWrite},
          {placesOf[0], total * placeBytes, Access::Write}});
  int from = 0;
  for (int64_t run = sortTile; run < lines.count; run *= 2, from = 1 - from) {
    int to = 1 - from;
    launch(stream, "shoal_sort_merge", blocksFor(total, blockThreads),
           SortMergeParameters{lines, run, keysOf[from], placesOf[from],
                               keysOf[to], placesOf[to]},
           {{keysOf[from], total * keyBytes, Access::Read},
            {placesOf[from], total * placeBytes, Access::Read},
            {keysOf[to], total * keyBytes, Access::Write},
            {placesOf[to], total * placeBytes, Access::Write}});
  }
  return {keysOf[from], placesOf[from]};
}

void LineSorter::readKeys(const SortKey &operand, bool descending,
                          const int32_t *order) {
  int64_t bytes =
      total * static_cast<int64_t>(support::elementSize(operand.type));
  launch(stream, "shoal_sort_keys", blocksFor(total, blockThreads),
         SortKeysParameters{lines, static_cast<int32_t>(operand.type),
                            descending, operand.data, order, keysOf[0]},
         {{operand.data, bytes, Access::Read},
          {order, order ? total * placeBytes : 0, Access::Read},
          {keysOf[0], total * keyBytes, Access::Write}});
}

const int32_t *LineSorter::compose(const int32_t *before,
                                   const int32_t *places) {
  int32_t *out = before == orders[0] ? orders[1] : orders[0];
  launch(stream, "shoal_sort_compose", blocksFor(total, blockThreads),
         SortComposeParameters{lines, before, places, out},
         {{before, before ? total * placeBytes : 0, Access::Read},
          {places, total * placeBytes, Access::Read},
          {out, total * placeBytes, Access::Write}});
  return out;
}

/// By the last key first: sorting is stable.
SortedLines LineSorter::sort(std::span<const SortKey> operands,
                             bool descending) {
  SortedLines sorted{};
  const int32_t *order = nullptr;
  for (size_t k = operands.size(); k-- > 0;) {
    readKeys(operands[k], descending, order);
    sorted = sortKeys();
    if (order || k > 0)
      sorted.places = order = compose(order, sorted.places);
  }
  return sorted;
}

void LineSorter::move(const SortedLines &sorted, int64_t kept, ElementType type,
                      const void *in, void *out) const {
  auto width = static_cast<int64_t>(support::elementSize(type));
  int64_t moved = lines.lines * kept;
  launch(stream, SHOAL_WIDTH_NAMES("shoal_sort_move").of(width),
         blocksFor(moved, blockThreads),
         SortMoveParameters{lines, kept, sorted.places, in, out},
         {{in, total * width, Access::Read},
          {sorted.places, total * placeBytes, Access::Read},
          {out, moved * width, Access::Write}});
}

} // namespace shoal::rt
