// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StridedCopy.h"
#include "BoxCopy.h"
#include "RowNest.h"

namespace shoal::rt {

/// How many elements of `width` bytes go into one word, for rows that are dense
/// on both sides, which the last loop is. All offsets must be whole words.
static int64_t elementsPerWord(const Loops<2> &loops, int64_t width,
                               const void *source, void *target) {
  auto address =
      reinterpret_cast<uintptr_t>(source) | reinterpret_cast<uintptr_t>(target);
  int64_t count = 16 / width;
  auto divides = [&](int64_t number) { return number % count == 0; };
  for (; count > 1; count /= 2) {
    bool whole = divides(loops.back().size) &&
                 address % static_cast<uintptr_t>(count * width) == 0;
    for (size_t l = 0; l + 1 < loops.size(); ++l)
      whole =
          whole && divides(loops[l].strides[0]) && divides(loops[l].strides[1]);
    if (whole)
      return count;
  }
  return 1;
}

static void copyWords(Loops<2> loops, int64_t width, const void *source,
                      void *target, cudaStream_t stream) {
  int64_t sourceBytes = extentOf(loops, 0) * width;
  int64_t targetBytes = extentOf(loops, 1) * width;
  if (!loops.empty() && loops.back().strides == Offsets<2>{1, 1}) {
    int64_t count = elementsPerWord(loops, width, source, target);
    loops.back().size /= count;
    for (size_t l = 0; l + 1 < loops.size(); ++l)
      for (int64_t &stride : loops[l].strides)
        stride /= count;
    width *= count;
  }
  const char *name = SHOAL_WIDTH_NAMES("shoal_copy").of(width);
  CopyParameters p{};
  setRows(p, std::move(loops), /*vectors=*/false);
  p.source = source;
  p.target = target;
  launch(stream, name, blocksFor(p.rows.threads(), blockThreads), p,
         {{source, sourceBytes, Access::Read},
          {target, targetBytes, Access::Write}});
}

/// Whether everything lies at whole words of `count` elements.
static bool isPacked(const TransposeParameters &p, int64_t width,
                     int64_t count) {
  auto divides = [&](int64_t number) { return number % count == 0; };
  auto address = reinterpret_cast<uintptr_t>(p.source) |
                 reinterpret_cast<uintptr_t>(p.target);
  bool packed =
      count > 1 && address % static_cast<uintptr_t>(count * width) == 0;
  for (int64_t number :
       {p.sourceDense, p.targetDense, p.sourceStride, p.targetStride})
    packed = packed && divides(number);
  for (int l = 0; l < p.nest.rank; ++l)
    packed = packed && divides(p.nest.strides[l][0]) &&
             divides(p.nest.strides[l][1]);
  return packed;
}

/// Where the source is dense along one loop and the target along another, both
/// long enough to fill a good part of a tile: true if it was done.
static bool transpose(Loops<2> loops, int64_t width, const void *source,
                      void *target, cudaStream_t stream) {
  constexpr int64_t longEnough = 8;
  auto denseIn = [&](size_t operand) {
    return std::find_if(loops.begin(), loops.end(), [&](const Loop<2> &loop) {
      return loop.strides[operand] == 1 && loop.size >= longEnough;
    });
  };
  auto across = denseIn(0), down = denseIn(1);
  if (across == loops.end() || down == loops.end() || across == down)
    return false;
  TransposeParameters p{};
  p.sourceDense = across->size;
  p.targetDense = down->size;
  p.sourceStride = down->strides[0];
  p.targetStride = across->strides[1];
  p.source = source;
  p.target = target;
  int64_t sourceBytes = extentOf(loops, 0) * width;
  int64_t targetBytes = extentOf(loops, 1) * width;
  Loop<2> plane[] = {*across, *down};
  for (const Loop<2> &loop : plane)
    loops.erase(std::find(loops.begin(), loops.end(), loop));
  p.nest = nestOf(loops);
  int64_t word =
      std::max<int64_t>(packedBytes(static_cast<int>(width)) / width, 1);
  bool packed = isPacked(p, width, word);
  int64_t side = packed ? transposeTile * word : transposeTile;
  p.tilesAcross = (p.sourceDense + side - 1) / side;
  p.tilesDown = (p.targetDense + side - 1) / side;
  const char *name = packed
                         ? SHOAL_WIDTH_NAMES("shoal_transpose_packed").of(width)
                         : SHOAL_WIDTH_NAMES("shoal_transpose").of(width);
  int64_t blocks = p.tilesAcross * p.tilesDown * p.nest.count;
  launch(stream, name, blocksFor(blocks, 1), p,
         {{source, sourceBytes, Access::Read},
          {target, targetBytes, Access::Write}});
  return true;
}

static void convert(const Loops<2> &loops, ElementType from, const void *source,
                    ElementType to, void *target, cudaStream_t stream) {
  if (support::isFloat(from) != support::isFloat(to))
    fatal("no conversion from " + std::string(elementTypeName(from)) + " to " +
          std::string(elementTypeName(to)));
  CopyParameters p{};
  setRows(p, loops, fitsVectors(loops, {{source, 0, from}, {target, 1, to}}));
  p.sourceType = static_cast<int32_t>(from);
  p.targetType = static_cast<int32_t>(to);
  p.source = source;
  p.target = target;
  auto bytes = [&](size_t operand, ElementType type) {
    return extentOf(loops, operand) *
           static_cast<int64_t>(support::elementSize(type));
  };
  // Double is a GPU's slowest arithmetic.
  ElementType widest = from == ElementType::F64 ? from : to;
  launch(stream, SHOAL_WIDE_NAMES("shoal_convert").of(widest),
         blocksFor(p.rows.threads(), blockThreads), p,
         {{source, bytes(0, from), Access::Read},
          {target, bytes(1, to), Access::Write}});
}

void copyStrided(Loops<2> loops, ElementType from, const void *source,
                 ElementType to, void *target, cudaStream_t stream) {
  if (isEmpty(loops))
    return;
  loops = simplify(std::move(loops), /*leader=*/1);
  if (from != to)
    return convert(loops, from, source, to, target, stream);
  auto width = static_cast<int64_t>(support::elementSize(from));
  if (!transpose(loops, width, source, target, stream))
    copyWords(std::move(loops), width, source, target, stream);
}

void copyBox(const BoxCopy &box, ElementType type, const void *source,
             void *target, cudaStream_t stream) {
  auto [loops, begin] = loopsOf(box);
  if (isEmpty(loops)) // there may be no memory either
    return;
  auto bytes = static_cast<int64_t>(support::elementSize(type));
  copyStrided(std::move(loops), type,
              static_cast<const char *>(source) + begin[0] * bytes, type,
              static_cast<char *>(target) + begin[1] * bytes, stream);
}

void fill(int64_t width, uint64_t bits, int64_t count, void *target,
          cudaStream_t stream) {
  const char *name = SHOAL_WIDTH_NAMES("shoal_fill").of(width);
  launch(stream, name, blocksFor(count, blockThreads),
         FillParameters{count, bits, target},
         {{target, count * width, Access::Write}});
}

} // namespace shoal::rt
