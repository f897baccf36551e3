// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelTiles.h"
#include "mlir/Support/LLVM.h"
#include "shoal/Support/Threshold.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shoal;

/// From where on a kernel is worth a start of threads, and what a tile costs
/// about: 32 and 4 us of a core's way to memory, as in the runtime.
static const support::Threshold
    leastBytes("bytes of a kernel that threads share", 256 << 10);
static constexpr double kTileBytes = 32 << 10;
/// Enough for many cores, and few enough that none is short.
static constexpr int64_t kMostTiles = 256;
/// Of the innermost loop: vectors run through whole cache lines, and through
/// memory in long pieces.
static constexpr int64_t kInnerStep = 64, kLeastInner = 512;
static const support::Threshold
    leastCutInner("steps of an innermost loop in tiles", 2 * kLeastInner);
static const support::Threshold mostTiles("tiles of a kernel", kMostTiles);

/// What several ops touch of a tile together: it stays in the second cache,
/// which has 256 KiB or more, and so do their results. What they share is worth
/// tiles where it is more than most such caches have.
static constexpr int64_t kRowTileBytes = 64 << 10,
                         kMostRowTileBytes = 256 << 10;
static const support::Threshold
    leastShared("bytes that ops share in tiles of rows", 1 << 20);

/// The least divisor of `size` that is a multiple of `step`, from `least` to
/// `most`; nothing where there is none.
static std::optional<int64_t> findDivisor(int64_t size, int64_t step,
                                          int64_t least, int64_t most) {
  for (int64_t tile = least; tile <= most && 2 * tile <= size; tile += step)
    if (size % tile == 0)
      return tile;
  return std::nullopt;
}

/// A size of tiles of which there are about `parts`, better a divisor: such
/// tiles are all alike, with sizes known to the compiler. 0 where none will do.
static int64_t chooseTile(const KernelLoop &loop, int64_t parts, int64_t step) {
  step = std::max(step, loop.unit);
  int64_t least = llvm::alignTo(llvm::divideCeil(loop.size, parts), step);
  if (loop.unit != 0)
    return findDivisor(loop.size, step, least, loop.size).value_or(0);
  return findDivisor(loop.size, step, least, 2 * least).value_or(least);
}

SmallVector<int64_t> shoal::chooseKernelTiles(ArrayRef<KernelLoop> loops,
                                              double bytes) {
  if (!leastBytes.isReachedBy(bytes))
    return {};
  auto wanted = mostTiles.isReachedBy(bytes / kTileBytes)
                    ? kMostTiles
                    : static_cast<int64_t>(bytes / kTileBytes);
  SmallVector<int64_t> tiles(loops.size(), 0);
  bool isCut = false;
  for (auto [number, loop] : llvm::enumerate(loops)) {
    bool isInner = number + 1 == loops.size();
    int64_t parts =
        std::min(isInner ? loop.size / kLeastInner : loop.size, wanted);
    if (!loop.isParallel ||
        (isInner && !leastCutInner.isReachedBy(loop.size)) || parts < 2)
      continue;
    tiles[number] = chooseTile(loop, parts, isInner ? kInnerStep : 1);
    if (tiles[number] == 0)
      continue;
    wanted /= llvm::divideCeil(loop.size, tiles[number]);
    isCut = true;
  }
  return isCut ? tiles : SmallVector<int64_t>();
}

SmallVector<int64_t> shoal::chooseRowTiles(ArrayRef<int64_t> rows,
                                           int64_t shared, int64_t bytes) {
  if (!leastShared.isReachedBy(shared))
    return {};
  int64_t wanted = llvm::divideCeil(bytes, kRowTileBytes), parts = 1;
  SmallVector<int64_t> tiles(rows.size(), 0);
  for (auto [size, tile] : llvm::zip_equal(rows, tiles)) {
    if (size == 1 || parts >= wanted)
      continue;
    int64_t least = llvm::divideCeil(size, llvm::divideCeil(wanted, parts));
    std::optional<int64_t> divisor = findDivisor(size, 1, least, 2 * least);
    if (!divisor)
      break;
    tile = *divisor;
    parts *= size / tile;
  }
  if (parts == 1 || bytes > kMostRowTileBytes * parts)
    return {};
  return tiles;
}

int64_t shoal::countTiles(ArrayRef<KernelLoop> loops, ArrayRef<int64_t> tiles) {
  int64_t count = 1;
  for (auto [loop, tile] : llvm::zip_equal(loops, tiles))
    if (tile != 0)
      count *= llvm::divideCeil(loop.size, tile);
  return count;
}
