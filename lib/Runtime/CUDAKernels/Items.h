// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The device's side of Nests.h: which items a thread takes and where they are.
// Index is uint32_t where all indices are below 2^31, else int64_t.

#ifndef SHOAL_LIB_RUNTIME_CUDAKERNELS_ITEMS_H
#define SHOAL_LIB_RUNTIME_CUDAKERNELS_ITEMS_H

#include "Kernel.h"

namespace shoal::rt {

template <typename Index>
struct Divided {
  Index quotient, rest;
};

SHOAL_DEVICE Divided<uint32_t> divide(uint32_t index, const Divisor &by) {
  auto product = static_cast<uint64_t>(2 * index) * by.multiplier;
  uint32_t quotient = static_cast<uint32_t>(product >> 32) >> by.shift;
  return {quotient, index - quotient * static_cast<uint32_t>(by.value)};
}
SHOAL_DEVICE Divided<int64_t> divide(int64_t index, const Divisor &by) {
  return {index / by.value, index % by.value};
}

/// The offsets of iteration `index`.
template <int N, typename Index>
SHOAL_DEVICE void locate(const Nest<N> &nest, Index index,
                         int64_t (&offsets)[N]) {
  for (int64_t &offset : offsets)
    offset = 0;
  SHOAL_NO_UNROLL
  for (int l = nest.rank - 1; l > 0; --l) {
    auto [rest, coordinate] = divide(index, nest.size[l]);
    for (int i = 0; i < N; ++i)
      offsets[i] += coordinate * nest.strides[l][i];
    index = rest;
  }
  if (nest.rank > 0)
    for (int i = 0; i < N; ++i)
      offsets[i] += index * nest.strides[0][i];
}

/// Calls body(index) for first, first + step, ... below count.
template <typename Body>
SHOAL_DEVICE void forEachIndex(int64_t first, int64_t step, int64_t count,
                               Body body) {
  if (count <= INT32_MAX) {
    auto end = static_cast<uint32_t>(count);
    for (auto i = static_cast<uint32_t>(first); i < end;
         i += static_cast<uint32_t>(step))
      body(i);
  } else {
    for (int64_t i = first; i < count; i += step)
      body(i);
  }
}

/// The same for the items of this thread, of count in the grid.
template <typename Body>
SHOAL_DEVICE void forEachItem(int64_t count, Body body) {
  forEachIndex(threadInGrid(), threadsInGrid(), count, body);
}

/// A thread's items of a row: first, first + step, ... below length, at most
/// threadItems.
template <typename Index>
struct Chunk {
  Index row, first, step, length;

  /// Calls body(index).
  template <typename Body>
  SHOAL_DEVICE void forEach(Body body) const {
    SHOAL_NO_UNROLL
    for (int number = 0; number < threadItems; ++number) {
      Index index = first + static_cast<Index>(number) * step;
      if (index < length)
        body(index);
    }
  }
};

template <typename Index, typename Body>
SHOAL_DEVICE void forEachChunkOf(const Rows &rows, Body body) {
  int bits = rows.groupBits;
  Index step = Index(1) << bits, end = static_cast<Index>(rows.count) *
                                       static_cast<Index>(rows.chunks.value);
  Index lane = static_cast<Index>(threadInBlock()) & (step - 1);
  for (auto at = static_cast<Index>(threadInGrid() >> bits); at < end;
       at += static_cast<Index>(threadsInGrid() >> bits)) {
    auto [row, part] = divide(at, rows.chunks);
    Index first = (part * threadItems << bits) + lane;
    body(Chunk<Index>{row, first, step, static_cast<Index>(rows.length)});
  }
}

/// Calls body(Chunk) for each chunk that this thread has a part in.
template <typename Body>
SHOAL_DEVICE void forEachChunk(const Rows &rows, Body body) {
  // Multiplied as floats, it cannot overflow.
  if (static_cast<float>(rows.count) * static_cast<float>(rows.length) < 2e9f)
    forEachChunkOf<uint32_t>(rows, body);
  else
    forEachChunkOf<int64_t>(rows, body);
}

/// Moves a chunk's items of a row, whose first ones lie at source and target;
/// all loads come before the first store.
template <typename Word, typename Index>
SHOAL_DEVICE void moveChunk(const Chunk<Index> &chunk, const Word *source,
                            int64_t sourceStride, Word *target,
                            int64_t targetStride) {
  source += chunk.first * sourceStride;
  target += chunk.first * targetStride;
  sourceStride *= chunk.step;
  targetStride *= chunk.step;
  Index left = chunk.first < chunk.length ? chunk.length - chunk.first : 0;
  Word held[threadItems] = {};
  SHOAL_UNROLL
  for (int i = 0; i < threadItems; ++i) {
    if (static_cast<Index>(i) * chunk.step < left)
      held[i] = *source;
    source += sourceStride;
  }
  SHOAL_UNROLL
  for (int i = 0; i < threadItems; ++i) {
    if (static_cast<Index>(i) * chunk.step < left)
      *target = held[i];
    target += targetStride;
  }
}

/// What is moved 16 bytes at a time.
struct alignas(16) Word16 {
  uint64_t low, high;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDAKERNELS_ITEMS_H
