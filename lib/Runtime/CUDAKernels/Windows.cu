// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gather and scatter, see Parameters.h.

#include "Elements.h"

using namespace shoal::rt;

/// Where the window at `at` in the indices begins along a dimension.
static SHOAL_DEVICE int64_t startOf(const Windows &windows,
                                    const WindowDim &dim, int64_t at) {
  if (dim.component < 0)
    return 0;
  auto start = loadElement<int64_t>(windows.indices, windows.indexType,
                                    at + dim.component);
  if (!windows.clamps)
    return start;
  int64_t last = dim.size - dim.windowSize;
  return start < 0 ? 0 : start > last ? last : start;
}

/// Of a window that is clamped, in the operand.
static SHOAL_DEVICE int64_t beginOf(const Windows &windows, int64_t at) {
  int64_t begin = 0;
  SHOAL_NO_UNROLL
  for (int d = 0; d < windows.rank; ++d)
    begin += startOf(windows, windows.dims[d], at) * windows.dims[d].stride;
  return begin;
}

template <typename Word>
static SHOAL_DEVICE void gatherWords(const GatherParameters &p) {
  const Windows &windows = p.windows;
  forEachChunk(p.rows, [&](auto chunk) {
    auto [window, outer] = divide(chunk.row, windows.outer.count);
    int64_t batch[3], begin[2];
    locate(windows.batch, window, batch);
    locate(windows.outer, outer, begin);
    int64_t from = batch[1] + beginOf(windows, batch[0]) + begin[0];
    moveChunk(chunk, static_cast<const Word *>(p.in) + from,
              windows.rowStrides[0],
              static_cast<Word *>(p.out) + batch[2] + begin[1],
              windows.rowStrides[1]);
  });
}

SHOAL_KERNEL(shoal_gather_1, GatherParameters) { gatherWords<uint8_t>(p); }
SHOAL_KERNEL(shoal_gather_2, GatherParameters) { gatherWords<uint16_t>(p); }
SHOAL_KERNEL(shoal_gather_4, GatherParameters) { gatherWords<uint32_t>(p); }
SHOAL_KERNEL(shoal_gather_8, GatherParameters) { gatherWords<uint64_t>(p); }
SHOAL_KERNEL(shoal_gather_16, GatherParameters) { gatherWords<Word16>(p); }

template <typename Wide>
static SHOAL_DEVICE Wide update(const ScatterParameters &p, Wide value,
                                int64_t at) {
  auto term = loadElement<Wide>(p.updates, p.type, at);
  if (p.kind < 0)
    return term;
  return roundTo(p.type, combineWide(p.kind, value, term));
}

/// One window, which meets no place twice. Its parts outside are dropped: the
/// window's own nest is in the order of the operand's dimensions.
template <typename Wide>
static SHOAL_DEVICE void scatterWindow(const ScatterParameters &p) {
  const Windows &windows = p.windows;
  int64_t batch[3];
  locate(windows.batch, p.batchIndex, batch);
  forEachItem(windows.elementsOfOne(), [&](auto rest) {
    int64_t place = batch[1], from = batch[2];
    bool inside = true;
    for (int d = windows.rank - 1; d >= 0 && inside; --d) {
      const WindowDim &dim = windows.dims[d];
      auto [next, within] = divide(rest, dim.windowSize);
      int64_t offset = within, room = dim.size - offset;
      rest = next;
      int64_t start = startOf(windows, dim, batch[0]);
      inside = start < room && start >= -offset;
      place += inside ? (start + offset) * dim.stride : 0;
      from += offset * dim.windowStride;
    }
    if (inside)
      storeElement(p.inout, p.type, place,
                   update(p, loadElement<Wide>(p.inout, p.type, place), from));
  });
}

SHOAL_KERNEL(shoal_scatter_keys, ScatterKeysParameters) {
  const Windows &windows = p.windows;
  forEachItem(windows.batch.count, [&](auto t) {
    int64_t batch[3];
    locate(windows.batch, t, batch);
    bool inside = true;
    int64_t place = batch[1];
    for (int d = 0; d < windows.rank && inside; ++d) {
      const WindowDim &dim = windows.dims[d];
      int64_t start = startOf(windows, dim, batch[0]);
      inside = start >= 0 && start <= dim.size - dim.windowSize;
      place += inside ? start * dim.stride : 0;
    }
    p.keys[t] = inside ? static_cast<uint64_t>(place) : droppedWindow;
  });
}

/// The window of a key: keys that are not sorted are in the windows' order.
static SHOAL_DEVICE uint32_t windowOf(const ScatterParameters &p,
                                      int64_t number) {
  return static_cast<uint32_t>(p.places ? p.places[number] : number);
}

/// Windows that go to the same place lie in a run; a thread takes elements of
/// the first and goes through the run.
template <int count, typename Wide>
static SHOAL_DEVICE void scatterItems(const ScatterParameters &p) {
  const Windows &windows = p.windows;
  int64_t numWindows = windows.batch.count;
  forEachChunk(p.rows, [&](auto chunk) {
    auto [first, outer] = divide(chunk.row, windows.outer.count);
    uint64_t key = p.keys[first];
    if (key == droppedWindow || (first > 0 && p.keys[first - 1] == key))
      return;
    int64_t begin[2];
    locate(windows.outer, outer, begin);
    begin[0] += static_cast<int64_t>(key);
    chunk.forEach([&](auto index) {
      int64_t place = begin[0] + index * count * windows.rowStrides[0];
      int64_t from = begin[1] + index * count * windows.rowStrides[1];
      Wide values[count], terms[count];
      loadElements<count>(p.inout, p.type, place, values);
      for (int64_t w = first; w < numWindows && p.keys[w] == key; ++w) {
        int64_t batch[3];
        locate(windows.batch, windowOf(p, w), batch);
        loadElements<count>(p.updates, p.type, batch[2] + from, terms);
        SHOAL_UNROLL
        for (int i = 0; i < count; ++i)
          values[i] = roundTo(p.type, combineWide(p.kind, values[i], terms[i]));
      }
      storeElements<count>(p.inout, p.type, place, values);
    });
  });
}

template <typename Wide>
static SHOAL_DEVICE void scatterRuns(const ScatterParameters &p) {
  if (p.vectors)
    scatterItems<vectorElements, Wide>(p);
  else
    scatterItems<1, Wide>(p);
}

/// Window `number` of those to move, and its place; none for one that is
/// dropped or followed by one that goes to the same place.
struct MovedWindow {
  int64_t window = -1, place = 0;
};
static SHOAL_DEVICE MovedWindow movedWindow(const ScatterParameters &p,
                                            int64_t number) {
  if (!p.keys)
    return {p.batchIndex, -1};
  uint64_t key = p.keys[number];
  if (key == droppedWindow ||
      (number + 1 < p.windows.batch.count && p.keys[number + 1] == key))
    return {};
  return {windowOf(p, number), static_cast<int64_t>(key)};
}

template <typename Word>
static SHOAL_DEVICE void moveWindows(const ScatterParameters &p) {
  const Windows &windows = p.windows;
  forEachChunk(p.rows, [&](auto chunk) {
    auto [number, outer] = divide(chunk.row, windows.outer.count);
    MovedWindow moved = movedWindow(p, number);
    if (moved.window < 0)
      return;
    int64_t batch[3], begin[2];
    locate(windows.batch, static_cast<uint32_t>(moved.window), batch);
    locate(windows.outer, outer, begin);
    int64_t place =
        p.keys ? moved.place : batch[1] + beginOf(windows, batch[0]);
    moveChunk(chunk, static_cast<const Word *>(p.updates) + batch[2] + begin[1],
              windows.rowStrides[1],
              static_cast<Word *>(p.inout) + place + begin[0],
              windows.rowStrides[0]);
  });
}

SHOAL_KERNEL(shoal_scatter_move_1, ScatterParameters) {
  moveWindows<uint8_t>(p);
}
SHOAL_KERNEL(shoal_scatter_move_2, ScatterParameters) {
  moveWindows<uint16_t>(p);
}
SHOAL_KERNEL(shoal_scatter_move_4, ScatterParameters) {
  moveWindows<uint32_t>(p);
}
SHOAL_KERNEL(shoal_scatter_move_8, ScatterParameters) {
  moveWindows<uint64_t>(p);
}
SHOAL_KERNEL(shoal_scatter_move_16, ScatterParameters) {
  moveWindows<Word16>(p);
}

/// Where the window at `batch`, with batch index `index`, meets the place with
/// the given coordinates in the operand: the offset in the windows' tensor, or
/// -1.
static SHOAL_DEVICE int64_t meet(const Windows &windows, auto index,
                                 const int64_t *coordinates) {
  int64_t batch[3];
  locate(windows.batch, index, batch);
  int64_t from = batch[2];
  for (int d = 0; d < windows.rank; ++d) {
    const WindowDim &dim = windows.dims[d];
    int64_t start = startOf(windows, dim, batch[0]);
    if (dim.batchLoop >= 0) {
      auto rest = index;
      for (int l = windows.batch.rank - 1; l > dim.batchLoop; --l)
        rest = divide(rest, windows.batch.size[l]).quotient;
      start = divide(rest, windows.batch.size[dim.batchLoop]).rest;
    }
    // Compared so that nothing overflows, whatever the index.
    if (start > coordinates[d] || start <= coordinates[d] - dim.windowSize)
      return -1;
    from += (coordinates[d] - start) * dim.windowStride;
  }
  return from;
}

/// A thread takes a place and looks which windows meet it. Where these do not
/// come in the order of the updates, it looks for the next update again and
/// again.
template <typename Wide>
static SHOAL_DEVICE void scatterPlaces(const ScatterParameters &p) {
  const Windows &windows = p.windows;
  forEachItem(p.operandCount, [&](auto place) {
    int64_t coordinates[maxNestLoops];
    auto rest = place;
    for (int d = windows.rank - 1; d >= 0; --d) {
      auto [quotient, coordinate] = divide(rest, windows.dims[d].size);
      coordinates[d] = coordinate;
      rest = quotient;
    }
    auto value = loadElement<Wide>(p.inout, p.type, place);
    bool met = false;
    int64_t last = -1, next = INT64_MAX;
    while (true) {
      forEachIndex(0, 1, windows.batch.count, [&](auto w) {
        int64_t from = meet(windows, w, coordinates);
        if (from > last && p.inOrder) {
          value = update(p, value, from);
          met = true;
        } else if (from > last && from < next) {
          next = from;
        }
      });
      if (p.inOrder || next == INT64_MAX)
        break;
      value = update(p, value, next);
      met = true;
      last = next;
      next = INT64_MAX;
    }
    if (met)
      storeElement(p.inout, p.type, place, value);
  });
}

#define SHOAL_SCATTERS(wide, Wide)                                             \
  SHOAL_KERNEL(shoal_scatter_window_##wide, ScatterParameters) {               \
    scatterWindow<Wide>(p);                                                    \
  }                                                                            \
  SHOAL_KERNEL(shoal_scatter_runs_##wide, ScatterParameters) {                 \
    scatterRuns<Wide>(p);                                                      \
  }                                                                            \
  SHOAL_KERNEL(shoal_scatter_places_##wide, ScatterParameters) {               \
    scatterPlaces<Wide>(p);                                                    \
  }

SHOAL_SCATTERS(float, float)
SHOAL_SCATTERS(double, double)
SHOAL_SCATTERS(integer, int64_t)
