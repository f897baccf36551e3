// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combine.h"
#include "SharedLoops.h"

namespace shoal::rt {

static constexpr int64_t strip = 1024;

/// `width` elements, few enough that what is combined so far stays in the
/// cache. Parts lie `count` elements apart.
template <typename T, Kind kind>
static void combineStrip(int64_t width, int64_t count, int64_t parts,
                         const T *in, T *out) {
  Accumulator<T> combined[strip];
  for (int64_t i = 0; i < width; ++i)
    combined[i] = toAccumulator(in[i]);
  for (int64_t part = 1; part < parts; ++part) {
    const T *terms = in + part * count;
    for (int64_t i = 0; i < width; ++i)
      combined[i] = combine<kind>(combined[i], toAccumulator(terms[i]));
  }
  for (int64_t i = 0; i < width; ++i)
    out[i] = fromAccumulator<T>(combined[i]);
}

template <typename T, Kind kind>
static void combineAll(int64_t count, int64_t parts, const T *in, T *out) {
  forEachStrip<1>({}, {count, {1}}, strip,
                  /*bytes=*/static_cast<double>((parts + 1) * sizeof(T)),
                  [&](const Offsets<1> &at, int64_t, int64_t width) {
                    combineStrip<T, kind>(width, count, parts, in + at[0],
                                          out + at[0]);
                  });
}

void combine(ElementType type, Kind kind, int64_t count, int64_t parts,
             const void *in, void *out) {
  dispatchKind(type, kind, [&]<typename T, Kind k>() {
    combineAll<T, k>(count, parts, static_cast<const T *>(in),
                     static_cast<T *>(out));
  });
}

} // namespace shoal::rt
