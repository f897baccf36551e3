// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stable sorting and top_k, see Parameters.h: tiles are sorted in shared memory
// by a bitonic network, then merged run by run.

#include "Keys.h"

using namespace shoal::rt;

template <typename Index>
static SHOAL_DEVICE int64_t elementOf(const SortLines &lines, Index line,
                                      int64_t i) {
  auto [outer, column] = divide(line, lines.inner);
  return (outer * lines.count + i) * lines.inner + column;
}

SHOAL_KERNEL(shoal_sort_keys, SortKeysParameters) {
  forEachItem(p.lines.lines * p.lines.count, [&](auto t) {
    auto [line, i] = divide(t, p.lines.count);
    int64_t place = p.places ? p.places[t] : i;
    uint64_t key = orderedKey(p.in, p.type, elementOf(p.lines, line, place));
    p.keys[t] = p.descending ? ~key : key;
  });
}

/// One step of the network: pairs at `distance`, a power of two, upwards in the
/// blocks of `size` that have an even number.
static SHOAL_DEVICE void exchange(uint64_t *keys, int32_t *places, int width,
                                  int size, int distance) {
  for (int t = threadInBlock(); t < width / 2; t += blockThreads) {
    int within = t & (distance - 1), low = 2 * (t - within) + within;
    int high = low + distance;
    bool upwards = (low & size) == 0;
    bool after = keys[low] != keys[high] ? keys[low] > keys[high]
                                         : places[low] > places[high];
    if (after == upwards) {
      uint64_t key = keys[low];
      int32_t place = places[low];
      keys[low] = keys[high];
      places[low] = places[high];
      keys[high] = key;
      places[high] = place;
    }
  }
}

SHOAL_KERNEL(shoal_sort_tiles, SortTilesParameters) {
  SHOAL_SHARED(uint64_t, keys, sortTile);
  SHOAL_SHARED(int32_t, places, sortTile);
  int64_t tiles = (p.lines.count + sortTile - 1) / sortTile;
  for (int64_t b = blockInGrid(); b < p.lines.lines * tiles;
       b += blocksInGrid()) {
    int64_t first = b % tiles * sortTile;
    int64_t start = b / tiles * p.lines.count + first;
    auto held = static_cast<int>(
        p.lines.count - first < sortTile ? p.lines.count - first : sortTile);
    int width = 1;
    while (width < held)
      width *= 2;
    // What is missing goes behind everything: no place is as great.
    for (int t = threadInBlock(); t < width; t += blockThreads) {
      keys[t] = t < held ? p.keys[start + t] : ~uint64_t(0);
      places[t] = t < held ? static_cast<int32_t>(first + t) : INT32_MAX;
    }
    barrier();
    for (int size = 2; size <= width; size *= 2)
      for (int distance = size / 2; distance > 0; distance /= 2) {
        exchange(keys, places, width, size, distance);
        barrier();
      }
    for (int t = threadInBlock(); t < held; t += blockThreads) {
      p.keys[start + t] = keys[t];
      p.places[start + t] = places[t];
    }
    barrier();
  }
}

/// How many of the sorted keys come before `key`; those that equal it too, if
/// `orEqual`.
static SHOAL_DEVICE int64_t countBefore(const uint64_t *keys, int64_t count,
                                        uint64_t key, bool orEqual) {
  int64_t low = 0, high = count;
  while (low < high) {
    int64_t middle = (low + high) / 2;
    if (keys[middle] < key || (orEqual && keys[middle] == key))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// An element goes as far behind the start of its pair of runs as there are
/// elements before it in both. Of equal ones those of the first run are first.
SHOAL_KERNEL(shoal_sort_merge, SortMergeParameters) {
  int64_t count = p.lines.count;
  forEachItem(p.lines.lines * count, [&](auto t) {
    int64_t i = divide(t, p.lines.count).rest, lineStart = t - i;
    int64_t own = i & ~(p.run - 1), pair = i & ~(2 * p.run - 1);
    bool isFirst = own == pair;
    int64_t other = isFirst ? own + p.run : pair;
    int64_t left = count - other;
    int64_t length = left < 0 ? 0 : left < p.run ? left : p.run;
    uint64_t key = p.keys[t];
    int64_t at = pair + (i - own) +
                 countBefore(p.keys + lineStart + other, length, key,
                             /*orEqual=*/!isFirst);
    p.mergedKeys[lineStart + at] = key;
    p.mergedPlaces[lineStart + at] = p.places[t];
  });
}

SHOAL_KERNEL(shoal_sort_compose, SortComposeParameters) {
  forEachItem(p.lines.lines * p.lines.count, [&](auto t) {
    int64_t lineStart = t - divide(t, p.lines.count).rest;
    p.out[t] = p.before ? p.before[lineStart + p.places[t]] : p.places[t];
  });
}

/// Neighbouring threads write neighbouring elements of the result.
template <typename Word>
static SHOAL_DEVICE void moveElements(const SortMoveParameters &p) {
  forEachItem(p.lines.lines * p.kept, [&](auto t) {
    auto [row, column] = divide(t, p.lines.inner);
    auto [outer, i] = divide(row, p.kept);
    int64_t line = outer * p.lines.inner + column;
    int64_t place = p.places[line * p.lines.count + i];
    int64_t from = (outer * p.lines.count + place) * p.lines.inner + column;
    static_cast<Word *>(p.out)[t] = static_cast<const Word *>(p.in)[from];
  });
}

SHOAL_KERNEL(shoal_sort_move_1, SortMoveParameters) {
  moveElements<uint8_t>(p);
}
SHOAL_KERNEL(shoal_sort_move_2, SortMoveParameters) {
  moveElements<uint16_t>(p);
}
SHOAL_KERNEL(shoal_sort_move_4, SortMoveParameters) {
  moveElements<uint32_t>(p);
}
SHOAL_KERNEL(shoal_sort_move_8, SortMoveParameters) {
  moveElements<uint64_t>(p);
}

static SHOAL_DEVICE void copyElement(int32_t type, const void *in, int64_t from,
                                     void *out, int64_t to) {
  switch (type) {
  case SHOAL_RT_F64:
  case SHOAL_RT_I64:
    static_cast<uint64_t *>(out)[to] = static_cast<const uint64_t *>(in)[from];
    return;
  case SHOAL_RT_F32:
  case SHOAL_RT_I32:
    static_cast<uint32_t *>(out)[to] = static_cast<const uint32_t *>(in)[from];
    return;
  case SHOAL_RT_I8:
  case SHOAL_RT_I1:
  case SHOAL_RT_F8E4M3FN:
  case SHOAL_RT_F8E5M2:
    static_cast<uint8_t *>(out)[to] = static_cast<const uint8_t *>(in)[from];
    return;
  default:
    static_cast<uint16_t *>(out)[to] = static_cast<const uint16_t *>(in)[from];
  }
}

SHOAL_KERNEL(shoal_top_k, TopKParameters) {
  int64_t warps = blocksInGrid() * blockWarps;
  int64_t first = blockInGrid() * blockWarps + warpInBlock();
  for (int64_t row = first; row < p.rows; row += warps) {
    uint64_t lastKey = 0;
    int64_t lastIndex = -1;
    for (int64_t round = 0; round < p.k; ++round) {
      uint64_t key = 0;
      int64_t index = p.n; // none
      for (int64_t i = laneInWarp(); i < p.n; i += warpLanes) {
        uint64_t candidate = orderedKey(p.in, p.type, row * p.n + i);
        bool isLeft = round == 0 || candidate < lastKey ||
                      (candidate == lastKey && i > lastIndex);
        if (isLeft && (index == p.n || candidate > key)) {
          key = candidate;
          index = i;
        }
      }
      for (int mask = warpLanes / 2; mask > 0; mask /= 2) {
        uint64_t otherKey = shuffleXor(key, mask);
        int64_t otherIndex = shuffleXor(index, mask);
        bool better =
            otherIndex < p.n && (index == p.n || otherKey > key ||
                                 (otherKey == key && otherIndex < index));
        if (better) {
          key = otherKey;
          index = otherIndex;
        }
      }
      lastKey = key;
      lastIndex = index;
      if (laneInWarp() == 0) {
        p.indices[row * p.k + round] = static_cast<int32_t>(index);
        copyElement(p.type, p.in, row * p.n + index, p.values,
                    row * p.k + round);
      }
    }
  }
}
