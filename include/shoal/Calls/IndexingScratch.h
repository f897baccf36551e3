// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How windows lie, and the scratch of a scatter that follows from it.

#ifndef SHOAL_CALLS_INDEXINGSCRATCH_H
#define SHOAL_CALLS_INDEXINGSCRATCH_H

#include "shoal/Calls/IndexingCalls.h"
#include "shoal/Calls/OrderingScratch.h"

#include <limits>

namespace shoal::calls {

inline int64_t countWindows(const WindowLayout &windows) {
  int64_t count = 1;
  for (const WindowLayout::Step &step : windows.steps)
    count *= step.size;
  return count;
}

inline int64_t elementsOfWindow(const WindowLayout &windows) {
  int64_t count = 1;
  for (const WindowLayout::Dim &dim : windows.dims)
    count *= dim.boxSize;
  return count;
}

/// Whether each window comes whole before the next in the windows' tensor.
inline bool areInOrder(const WindowLayout &windows) {
  int64_t smallest = std::numeric_limits<int64_t>::max(), largest = 0;
  for (const WindowLayout::Step &step : windows.steps)
    if (step.size > 1)
      smallest = std::min(smallest, step.windows);
  for (const WindowLayout::Dim &dim : windows.dims)
    if (dim.boxSize > 1)
      largest = std::max(largest, dim.boxStride);
  return largest < smallest;
}

/// Whether the step goes along this dimension of the operand, row by row.
inline bool walks(const WindowLayout::Step &step,
                  const WindowLayout::Dim &dim) {
  return dim.size > 1 && dim.boxSize == 1 && step.operand == dim.stride;
}

/// Whether two windows are the same or have no element in common.
inline bool areSameOrApart(const WindowLayout &windows) {
  for (const WindowLayout::Dim &dim : windows.dims)
    if (dim.component >= 0 && dim.boxSize > 1)
      return false;
  for (const WindowLayout::Step &step : windows.steps) {
    bool known = step.size == 1 || step.operand == 0;
    for (const WindowLayout::Dim &dim : windows.dims)
      known = known || walks(step, dim);
    if (!known)
      return false;
  }
  return true;
}

/// How a device scatters.
enum class ScatterWay { OneByOne, ByPlaces, ByRuns };

/// Few windows go one after the other; of many that are the same or apart,
/// those of one place are brought together by sorting; else each element of the
/// operand looks for its updates.
inline ScatterWay chooseScatterWay(const WindowLayout &windows) {
  constexpr int64_t fewWindows = 64;
  int64_t count = countWindows(windows);
  bool apart = areSameOrApart(windows);
  if (count == 1 || (!apart && areInOrder(windows) && count <= fewWindows))
    return ScatterWay::OneByOne;
  return apart ? ScatterWay::ByRuns : ScatterWay::ByPlaces;
}

/// An element of the updates and what it is combined with.
struct ScatterTarget {
  int64_t update, place;
};

/// A key for each window, and of windows that may be equal what sorts these.
inline int64_t scratchBytesOfRuns(const ScatterCall &call) {
  int64_t count = countWindows(call.windows);
  return call.isUnique ? sumOfPieces({count * int64_t(sizeof(uint64_t))})
                       : deviceSortBytes(count);
}

/// On a CPU, windows that are not in order are listed element by element.
inline int64_t scratchBytes(const ScatterCall &call, bool onDevice) {
  int64_t count = countWindows(call.windows);
  int64_t elements = count * elementsOfWindow(call.windows);
  if (elements == 0)
    return 0;
  if (onDevice)
    return chooseScatterWay(call.windows) == ScatterWay::ByRuns
               ? scratchBytesOfRuns(call)
               : 0;
  return areInOrder(call.windows)
             ? 0
             : sumOfPieces({elements * int64_t(sizeof(ScatterTarget))});
}

} // namespace shoal::calls

#endif // SHOAL_CALLS_INDEXINGSCRATCH_H
