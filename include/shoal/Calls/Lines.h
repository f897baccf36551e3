// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_CALLS_LINES_H
#define SHOAL_CALLS_LINES_H

#include "shoal/Support/ElementType.h"
#include "shoal/Support/Threshold.h"

#include <algorithm>

namespace shoal::calls {

/// The lines of a dense tensor along one of its dimensions: `count` elements
/// each, `inner` apart; `outer` x `inner` lines.
struct Lines {
  int64_t outer, count, inner;

  Lines(std::span<const int64_t> shape, int64_t axis)
      : outer(support::numElements(shape.first(axis))), count(shape[axis]),
        inner(support::numElements(shape.subspan(axis + 1))) {}
  int64_t number() const { return outer * inner; }
};

inline const support::Threshold
    manyLines("lines that several threads have memory for", 16);

/// How many of so many lines threads may work on at a time, each with memory of
/// its own where lines need any: an eighth, so that it is little beside the
/// tensor.
inline int64_t linesAtOnce(int64_t lines) {
  constexpr int64_t most = 16;
  return manyLines.isReachedBy(lines) ? std::min(lines / 8, most) : 1;
}

} // namespace shoal::calls

#endif // SHOAL_CALLS_LINES_H
