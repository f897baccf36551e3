// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StridedCopy.h"
#include "SharedLoops.h"
#include "shoal/Support/Threshold.h"

#include <cstring>

namespace shoal::rt {

/// Strides in bytes. The only code that knows types: nests call it by pointer.
using CopyRow = void (*)(int64_t count, const char *source,
                         int64_t sourceStride, char *target,
                         int64_t targetStride);

template <typename From, typename To>
static void copyRow(int64_t count, const char *source, int64_t sourceStride,
                    char *target, int64_t targetStride) {
  const From *from = reinterpret_cast<const From *>(source);
  To *to = reinterpret_cast<To *>(target);
  constexpr int64_t width = sizeof(From), toWidth = sizeof(To);
  int64_t step = sourceStride / width, toStep = targetStride / toWidth;
  if (step == 1 && toStep == 1) {
    if constexpr (std::is_same_v<From, To>)
      std::memcpy(to, from, count * sizeof(To));
    else
      for (int64_t i = 0; i < count; ++i)
        to[i] = convert<To>(from[i]);
    return;
  }
  if (toStep == 1) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = convert<To>(from[i * step]);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    to[i * toStep] = convert<To>(from[i * step]);
}

/// Null where no einsum converts: between floats and integers.
static CopyRow copyRowFor(ElementType from, ElementType to) {
  if (from == to)
    return dispatchType(sameSizeInteger(from),
                        []<typename T>() -> CopyRow { return copyRow<T, T>; });
  return dispatchType(from, [&]<typename From>() {
    return dispatchType(to, []<typename To>() -> CopyRow {
      if constexpr (isFloatType<From> == isFloatType<To> &&
                    !std::is_same_v<From, To>)
        return copyRow<From, To>;
      return nullptr;
    });
  });
}

static constexpr int64_t tileRows = 64;
static const support::Threshold tileStrip("rows of a transposed copy in tiles",
                                          tileRows);

/// Copies the plane of two loops, `b` no longer than a tile, the source being
/// dense along `a` and the target along `b`. Whole cache lines are read into a
/// tile and whole rows of it written: strides of powers of two would otherwise
/// share few cache sets.
static void transposeTile(CopyRow copyRow, const Loop<2> &a, const Loop<2> &b,
                          int64_t width, const char *source, char *target) {
  constexpr int64_t lineBytes = 64;
  alignas(lineBytes) char tile[tileRows * lineBytes];
  int64_t line = lineBytes / width;
  for (int64_t a0 = 0; a0 < a.size; a0 += line) {
    int64_t aCount = std::min(a.size - a0, line);
    const char *from = source + a0 * a.strides[0];
    char *to = target + a0 * a.strides[1];
    for (int64_t j = 0; j < b.size; ++j)
      std::memcpy(tile + j * lineBytes, from + j * b.strides[0],
                  aCount * width);
    for (int64_t i = 0; i < aCount; ++i)
      copyRow(b.size, tile + i * width, lineBytes, to + i * a.strides[1],
              b.strides[1]);
  }
}

/// Elements that a thread copies at least, of a longer row.
static const support::Threshold
    longRow("elements of a copied row that threads share", 16384);

/// `width` is the source's element size.
static void copyNest(CopyRow copyRow, Loops<2> loops, int64_t width,
                     const char *source, char *target) {
  if (loops.empty())
    return copyRow(1, source, width, target, width);
  Loop<2> inner = loops.back();
  loops.pop_back();
  auto dense =
      std::find_if(loops.begin(), loops.end(), [&](const Loop<2> &loop) {
        return loop.strides[0] == width;
      });
  if (inner.strides[0] == width || dense == loops.end()) {
    return forEachStrip<2>(loops, inner, longRow, /*bytes=*/2.0 * width,
                           [&](const Offsets<2> &at, int64_t, int64_t count) {
                             copyRow(count, source + at[0], inner.strides[0],
                                     target + at[1], inner.strides[1]);
                           });
  }
  Loop<2> across = *dense;
  loops.erase(dense);
  forEachStrip<2>(loops, inner, tileStrip,
                  /*bytes=*/2.0 * width * across.size,
                  [&](const Offsets<2> &at, int64_t, int64_t count) {
                    transposeTile(copyRow, across, {count, inner.strides},
                                  width, source + at[0], target + at[1]);
                  });
}

void copyStrided(Loops<2> loops, ElementType from, const void *source,
                 ElementType to, void *target) {
  if (isEmpty(loops))
    return;
  CopyRow copyRow = copyRowFor(from, to);
  if (!copyRow)
    fatal("no conversion from " + std::string(elementTypeName(from)) + " to " +
          std::string(elementTypeName(to)));
  loops = simplify(std::move(loops), /*leader=*/1);
  auto width = static_cast<int64_t>(support::elementSize(from));
  for (Loop<2> &loop : loops) {
    loop.strides[0] *= width;
    loop.strides[1] *= static_cast<int64_t>(support::elementSize(to));
  }
  copyNest(copyRow, std::move(loops), width, static_cast<const char *>(source),
           static_cast<char *>(target));
}

void copyBytes(const void *source, void *target, int64_t bytes) {
  parallelFor({bytes, /*itemBytes=*/2}, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char *>(target) + begin,
                static_cast<const char *>(source) + begin, end - begin);
  });
}

void zeroBytes(void *target, int64_t bytes) {
  parallelFor({bytes, /*itemBytes=*/1}, [&](int64_t begin, int64_t end) {
    std::memset(static_cast<char *>(target) + begin, 0, end - begin);
  });
}

void copyBox(const BoxCopy &box, ElementType type, const void *source,
             void *target) {
  auto [loops, begin] = loopsOf(box);
  if (isEmpty(loops)) // there may be no memory either
    return;
  auto bytes = static_cast<int64_t>(support::elementSize(type));
  copyStrided(std::move(loops), type,
              static_cast<const char *>(source) + begin[0] * bytes, type,
              static_cast<char *>(target) + begin[1] * bytes);
}

} // namespace shoal::rt
