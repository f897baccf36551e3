// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strided copies, see Parameters.h.

#include "Elements.h"

using namespace shoal::rt;

template <typename Word>
static SHOAL_DEVICE void copyWords(const CopyParameters &p) {
  forEachChunk(p.rows, [&](auto chunk) {
    int64_t at[2];
    locate(p.outer, chunk.row, at);
    moveChunk(chunk, static_cast<const Word *>(p.source) + at[0], p.strides[0],
              static_cast<Word *>(p.target) + at[1], p.strides[1]);
  });
}

SHOAL_KERNEL(shoal_copy_1, CopyParameters) { copyWords<uint8_t>(p); }
SHOAL_KERNEL(shoal_copy_2, CopyParameters) { copyWords<uint16_t>(p); }
SHOAL_KERNEL(shoal_copy_4, CopyParameters) { copyWords<uint32_t>(p); }
SHOAL_KERNEL(shoal_copy_8, CopyParameters) { copyWords<uint64_t>(p); }
SHOAL_KERNEL(shoal_copy_16, CopyParameters) { copyWords<Word16>(p); }

template <int count, typename Wide>
static SHOAL_DEVICE void convertItems(const CopyParameters &p) {
  forEachChunk(p.rows, [&](auto chunk) {
    int64_t at[2];
    locate(p.outer, chunk.row, at);
    chunk.forEach([&](auto index) {
      Wide values[count];
      loadElements<count>(p.source, p.sourceType,
                          at[0] + index * count * p.strides[0], values);
      storeElements<count>(p.target, p.targetType,
                           at[1] + index * count * p.strides[1], values);
    });
  });
}

template <typename Wide>
static SHOAL_DEVICE void convertElements(const CopyParameters &p) {
  if (p.vectors)
    convertItems<vectorElements, Wide>(p);
  else
    convertItems<1, Wide>(p);
}

SHOAL_KERNEL(shoal_convert_float, CopyParameters) { convertElements<float>(p); }
SHOAL_KERNEL(shoal_convert_double, CopyParameters) {
  convertElements<double>(p);
}
SHOAL_KERNEL(shoal_convert_integer, CopyParameters) {
  convertElements<int64_t>(p);
}

/// A warp reads rows of the source and writes rows of the target, a word of
/// `count` elements a lane; the column of padding spreads a column of the tile
/// over the banks.
template <typename T, int count>
static SHOAL_DEVICE void transposePlanes(const TransposeParameters &p) {
  constexpr int side = transposeTile * count, pitch = side + count;
  constexpr int linesOfWarp = side / blockWarps;
  struct alignas(count * sizeof(T)) Word {
    T elements[count];
  };
  SHOAL_SHARED(Word, words, side * pitch / count);
  T *tile = words->elements;
  int64_t tiles = p.tilesAcross * p.tilesDown * p.nest.count;
  auto moveTile = [&](auto number) {
    auto [rest, across] = divide(number, p.tilesAcross);
    auto [plane, down] = divide(rest, p.tilesDown);
    int64_t at[2];
    locate(p.nest, plane, at);
    // Of the tile's words, this lane's, and the first line of this warp.
    int lane = laneInWarp() * count, line = warpInBlock();
    int64_t a = int64_t(across) * side, b = int64_t(down) * side;
    auto *source = static_cast<const T *>(p.source) + at[0] + a + lane +
                   (b + line) * p.sourceStride;
    auto *target = static_cast<T *>(p.target) + at[1] + b + lane +
                   (a + line) * p.targetStride;
    int64_t linesLeft = p.targetDense - b - line;
    if (a + lane >= p.sourceDense)
      linesLeft = 0;
    SHOAL_UNROLL
    for (int i = 0; i < linesOfWarp; ++i)
      if (i * blockWarps < linesLeft)
        *reinterpret_cast<Word *>(tile + (line + i * blockWarps) * pitch +
                                  lane) =
            *reinterpret_cast<const Word *>(source +
                                            i * blockWarps * p.sourceStride);
    barrier();
    linesLeft = p.sourceDense - a - line;
    if (b + lane >= p.targetDense)
      linesLeft = 0;
    SHOAL_UNROLL
    for (int i = 0; i < linesOfWarp; ++i)
      if (i * blockWarps < linesLeft) {
        Word word;
        SHOAL_UNROLL
        for (int e = 0; e < count; ++e)
          word.elements[e] = tile[(lane + e) * pitch + line + i * blockWarps];
        *reinterpret_cast<Word *>(target + i * blockWarps * p.targetStride) =
            word;
      }
    barrier();
  };
  forEachIndex(blockInGrid(), blocksInGrid(), tiles, moveTile);
}

SHOAL_KERNEL(shoal_transpose_1, TransposeParameters) {
  transposePlanes<uint8_t, 1>(p);
}
SHOAL_KERNEL(shoal_transpose_2, TransposeParameters) {
  transposePlanes<uint16_t, 1>(p);
}
SHOAL_KERNEL(shoal_transpose_4, TransposeParameters) {
  transposePlanes<uint32_t, 1>(p);
}
SHOAL_KERNEL(shoal_transpose_8, TransposeParameters) {
  transposePlanes<uint64_t, 1>(p);
}
SHOAL_KERNEL(shoal_transpose_packed_1, TransposeParameters) {
  transposePlanes<uint8_t, packedBytes(1)>(p);
}
SHOAL_KERNEL(shoal_transpose_packed_2, TransposeParameters) {
  transposePlanes<uint16_t, packedBytes(2) / 2>(p);
}
SHOAL_KERNEL(shoal_transpose_packed_4, TransposeParameters) {
  transposePlanes<uint32_t, packedBytes(4) / 4>(p);
}
