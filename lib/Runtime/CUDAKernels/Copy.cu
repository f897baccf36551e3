// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strided copies, see Parameters.h.

#include "Elements.h"

using namespace shoal::rt;

namespace {
struct alignas(16) Word16 {
  uint64_t low, high;
};
} // namespace

template <typename Word>
static SHOAL_DEVICE void copyWords(const CopyParameters &p) {
  auto *source = static_cast<const Word *>(p.source);
  auto *target = static_cast<Word *>(p.target);
  for (int64_t i = threadInGrid(); i < p.nest.count; i += threadsInGrid()) {
    int64_t at[2];
    locate(p.nest, i, at);
    target[at[1]] = source[at[0]];
  }
}

SHOAL_KERNEL(shoal_copy_1, CopyParameters) { copyWords<uint8_t>(p); }
SHOAL_KERNEL(shoal_copy_2, CopyParameters) { copyWords<uint16_t>(p); }
SHOAL_KERNEL(shoal_copy_4, CopyParameters) { copyWords<uint32_t>(p); }
SHOAL_KERNEL(shoal_copy_8, CopyParameters) { copyWords<uint64_t>(p); }
SHOAL_KERNEL(shoal_copy_16, CopyParameters) { copyWords<Word16>(p); }

/// Double holds every element of a float type.
template <typename Wide>
static SHOAL_DEVICE void convertElements(const CopyParameters &p) {
  for (int64_t i = threadInGrid(); i < p.nest.count; i += threadsInGrid()) {
    int64_t at[2];
    locate(p.nest, i, at);
    storeElement(p.target, p.targetType, at[1],
                 loadElement<Wide>(p.source, p.sourceType, at[0]));
  }
}

SHOAL_KERNEL(shoal_convert_float, CopyParameters) {
  convertElements<double>(p);
}
SHOAL_KERNEL(shoal_convert_integer, CopyParameters) {
  convertElements<int64_t>(p);
}

/// A warp reads rows of the source and writes rows of the target; the column
/// of padding spreads a column of the tile over all banks.
template <typename Word>
static SHOAL_DEVICE void transposePlanes(const TransposeParameters &p) {
  constexpr int side = transposeTile, pitch = side + 1;
  SHOAL_SHARED(Word, tile, side * pitch);
  auto *source = static_cast<const Word *>(p.source);
  auto *target = static_cast<Word *>(p.target);
  int64_t tilesAcross = (p.sourceDense + side - 1) / side;
  int64_t tilesDown = (p.targetDense + side - 1) / side;
  int64_t tiles = tilesAcross * tilesDown * p.nest.count;
  for (int64_t t = blockInGrid(); t < tiles; t += blocksInGrid()) {
    int64_t across = t % tilesAcross * side, plane = t / tilesAcross;
    int64_t down = plane % tilesDown * side;
    int64_t at[2];
    locate(p.nest, plane / tilesDown, at);
    int64_t a = across + laneInWarp(), b = down + laneInWarp();
    for (int row = warpInBlock(); row < side; row += blockWarps)
      if (a < p.sourceDense && down + row < p.targetDense)
        tile[row * pitch + laneInWarp()] =
            source[at[0] + (down + row) * p.sourceStride + a];
    barrier();
    for (int row = warpInBlock(); row < side; row += blockWarps)
      if (across + row < p.sourceDense && b < p.targetDense)
        target[at[1] + (across + row) * p.targetStride + b] =
            tile[laneInWarp() * pitch + row];
    barrier();
  }
}

SHOAL_KERNEL(shoal_transpose_1, TransposeParameters) {
  transposePlanes<uint8_t>(p);
}
SHOAL_KERNEL(shoal_transpose_2, TransposeParameters) {
  transposePlanes<uint16_t>(p);
}
SHOAL_KERNEL(shoal_transpose_4, TransposeParameters) {
  transposePlanes<uint32_t>(p);
}
SHOAL_KERNEL(shoal_transpose_8, TransposeParameters) {
  transposePlanes<uint64_t>(p);
}
