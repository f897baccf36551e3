// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CombineRow.h"

namespace shoal::rt {

namespace {
template <typename T>
struct Last {
  T operator()(T, T last) const { return last; }
};

template <typename T, Kind kind>
struct Combined {
  T operator()(T a, T b) const { return combine<kind>(a, b); }
};
} // namespace

template <typename T, typename Combine>
static void combineRow(int64_t count, char *to, int64_t toStride,
                       const char *from, int64_t fromStride) {
  T *a = reinterpret_cast<T *>(to);
  const T *b = reinterpret_cast<const T *>(from);
  if (toStride == 1 && fromStride == 1) {
    for (int64_t i = 0; i < count; ++i)
      a[i] = Combine()(a[i], b[i]);
    return;
  }
  // Vectors would be gathered and scattered, element by element.
#pragma clang loop vectorize(disable)
  for (int64_t i = 0; i < count; ++i)
    a[i * toStride] = Combine()(a[i * toStride], b[i * fromStride]);
}

template <typename T, typename Combine>
static void combineTargets(std::span<const calls::ScatterTarget> targets,
                           char *to, const char *from) {
  T *a = reinterpret_cast<T *>(to);
  const T *b = reinterpret_cast<const T *>(from);
  for (auto [update, place] : targets)
    a[place] = Combine()(a[place], b[update]);
}

/// Calls choose<T, Combine>() for the type of the elements and what combines
/// two of them. What only moves them knows their size alone.
template <typename Choose>
static auto forCombination(ElementType type, std::optional<Kind> kind,
                           Choose &&choose) {
  if (!kind)
    return dispatchType(sameSizeInteger(type), [&]<typename T>() {
      return choose.template operator()<T, Last<T>>();
    });
  return dispatchKind(type, *kind, [&]<typename T, Kind k>() {
    return choose.template operator()<T, Combined<T, k>>();
  });
}

CombineRow combineRowFor(ElementType type, std::optional<Kind> kind) {
  return forCombination(type, kind,
                        []<typename T, typename Combine>() -> CombineRow {
                          return combineRow<T, Combine>;
                        });
}

CombineTargets combineTargetsFor(ElementType type, std::optional<Kind> kind) {
  return forCombination(type, kind,
                        []<typename T, typename Combine>() -> CombineTargets {
                          return combineTargets<T, Combine>;
                        });
}

} // namespace shoal::rt
