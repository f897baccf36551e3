// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combine.h"

namespace shoal::rt {

/// In strips, so that what is combined so far stays in the cache.
template <typename T, Kind kind>
static void combineAll(int64_t count, int64_t parts, const T *in, T *out) {
  constexpr int64_t strip = 1024;
  Accumulator<T> combined[strip];
  for (int64_t begin = 0; begin < count; begin += strip) {
    int64_t width = std::min(strip, count - begin);
    for (int64_t i = 0; i < width; ++i)
      combined[i] = toAccumulator(in[begin + i]);
    for (int64_t part = 1; part < parts; ++part) {
      const T *terms = in + part * count + begin;
      for (int64_t i = 0; i < width; ++i)
        combined[i] = combine<kind>(combined[i], toAccumulator(terms[i]));
    }
    for (int64_t i = 0; i < width; ++i)
      out[begin + i] = fromAccumulator<T>(combined[i]);
  }
}

void combine(ElementType type, Kind kind, int64_t count, int64_t parts,
             const void *in, void *out) {
  dispatchKind(type, kind, [&]<typename T, Kind k>() {
    combineAll<T, k>(count, parts, static_cast<const T *>(in),
                     static_cast<T *>(out));
  });
}

} // namespace shoal::rt
