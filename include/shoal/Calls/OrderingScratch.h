// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The scratch of sorting and of what sorts.

#ifndef SHOAL_CALLS_ORDERINGSCRATCH_H
#define SHOAL_CALLS_ORDERINGSCRATCH_H

#include "shoal/Calls/Lines.h"
#include "shoal/Calls/OrderingCalls.h"
#include "shoal/Calls/Scratch.h"
#include "shoal/Support/Threshold.h"

#include <algorithm>

namespace shoal::calls {

/// A device sorts all lines at once: for each element two keys of 64 bits, two
/// places and two orders of 32 bits, as merging needs a source and a target.
inline int64_t deviceSortBytes(int64_t elements) {
  return sumOfPieces({elements * 2 * 8, elements * 2 * 4, elements * 2 * 4});
}

/// A key as a CPU compares it.
inline int64_t cpuKeyBytes(ElementType type) {
  auto bytes = static_cast<int64_t>(support::elementSize(type));
  constexpr int64_t least = sizeof(float);
  return support::isFloat(type) ? std::max(bytes, least) : bytes;
}

/// A CPU sorts line by line: the keys of one, side by side, and its order.
inline int64_t scratchBytes(const SortCall &call, bool onDevice) {
  Lines lines(call.shape, call.axis);
  if (onDevice)
    return deviceSortBytes(lines.number() * lines.count);
  if (lines.number() == 0)
    return 0;
  int64_t bytes = sumOfPieces({lines.count * int64_t(sizeof(int64_t))});
  for (int64_t k = 0; k < call.numKeys; ++k)
    bytes += sumOfPieces({lines.count * cpuKeyBytes(call.types[k])});
  return bytes * linesAtOnce(lines.number());
}

/// So few are selected by going through the line once, or on a device once for
/// each of them.
inline constexpr int64_t fewSelected = 16;

inline const support::Threshold
    manySelected("elements that are selected by sorting", fewSelected + 1);

/// Whether a call selects by sorting. Rounds of a device read k n elements of
/// each line, most of them from the L1 cache.
inline bool selectsBySorting(const TopKCall &call, bool onDevice) {
  constexpr int64_t mostReads = 1 << 16;
  return manySelected.isReachedBy(call.k) ||
         (onDevice && call.k * call.shape.back() > mostReads);
}

inline int64_t scratchBytes(const TopKCall &call, bool onDevice) {
  Lines lines(call.shape, static_cast<int64_t>(call.shape.size()) - 1);
  if (call.k == 0 || lines.number() == 0 || !selectsBySorting(call, onDevice))
    return 0;
  return onDevice ? deviceSortBytes(lines.number() * lines.count)
                  : sumOfPieces({lines.count * int64_t(sizeof(int32_t))}) *
                        linesAtOnce(lines.number());
}

} // namespace shoal::calls

#endif // SHOAL_CALLS_ORDERINGSCRATCH_H
