// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combine.h"
#include "SharedLoops.h"
#include "shoal/Support/Threshold.h"

#include <vector>

namespace shoal::rt {

static constexpr int64_t stripSize = 1024;
static const support::Threshold strip("elements of a combined strip",
                                      stripSize);

/// `width` elements from `begin` on, few enough that what is combined so far
/// stays in the cache.
template <typename T, Kind kind>
static void combineStrip(int64_t begin, int64_t width,
                         std::span<const char *const> in, T *out) {
  auto termsOf = [&](const char *array) {
    return reinterpret_cast<const T *>(array) + begin;
  };
  Accumulator<T> combined[stripSize];
  const T *first = termsOf(in[0]);
  for (int64_t i = 0; i < width; ++i)
    combined[i] = toAccumulator(first[i]);
  for (const char *array : in.subspan(1)) {
    const T *terms = termsOf(array);
    for (int64_t i = 0; i < width; ++i)
      combined[i] = combine<kind>(combined[i], toAccumulator(terms[i]));
  }
  for (int64_t i = 0; i < width; ++i)
    out[begin + i] = fromAccumulator<T>(combined[i]);
}

template <typename T, Kind kind>
static void combineAll(int64_t count, std::span<const char *const> in, T *out) {
  forEachStrip<1>({}, {count, {1}}, strip,
                  /*bytes=*/static_cast<double>((in.size() + 1) * sizeof(T)),
                  [&](const Offsets<1> &at, int64_t, int64_t width) {
                    combineStrip<T, kind>(at[0], width, in, out);
                  });
}

void combine(ElementType type, Kind kind, int64_t count,
             std::span<const char *const> in, void *out) {
  dispatchKind(type, kind, [&]<typename T, Kind k>() {
    combineAll<T, k>(count, in, static_cast<T *>(out));
  });
}

void combine(ElementType type, Kind kind, int64_t count, int64_t parts,
             const void *in, void *out) {
  auto bytes = count * static_cast<int64_t>(support::elementSize(type));
  std::vector<const char *> arrays;
  arrays.reserve(parts);
  for (int64_t part = 0; part < parts; ++part)
    arrays.push_back(static_cast<const char *>(in) + part * bytes);
  combine(type, kind, count, arrays, out);
}

} // namespace shoal::rt
