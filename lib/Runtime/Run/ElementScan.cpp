// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ElementScan.h"
#include "../Program/Numeric.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace shoal::rt {

using calls::CheckCall;
using support::Block;

Block findBlock(const CheckCall &call, const Topology &topology) {
  Block block;
  for (size_t d = 0; d < call.blocks.whole.size(); ++d) {
    int64_t size = call.blocks.whole[d], rows = call.blocks.block[d];
    int64_t begin = std::min(
        size, topology.indexOver(call.mesh, call.blocks.dims[d]) * rows);
    block.offset.push_back(begin);
    block.extent.push_back(std::min(rows, size - begin));
  }
  return block;
}

/// Calls visit(begin, end) for each run of elements that exist, as places in
/// the block: the last dimensions that are whole make one run.
template <typename Visitor>
static void forEachRun(const CheckCall &call, const Block &block,
                       Visitor &&visit) {
  const std::vector<int64_t> &shape = call.blocks.block;
  if (std::find(block.extent.begin(), block.extent.end(), 0) !=
      block.extent.end())
    return;
  size_t outer = shape.size();
  int64_t run = 1, stride = 1;
  while (outer > 0 && run == stride) {
    --outer;
    run = stride * block.extent[outer];
    stride *= shape[outer];
  }
  std::vector<int64_t> index(outer, 0);
  while (true) {
    int64_t place = 0;
    for (size_t d = 0; d < outer; ++d)
      place = place * shape[d] + index[d];
    visit(place * stride, place * stride + run);
    size_t d = outer;
    while (d > 0 && ++index[d - 1] == block.extent[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

//===----------------------------------------------------------------------===//
// NaN and infinities
//===----------------------------------------------------------------------===//

template <typename T>
static auto widen(T value) {
  if constexpr (std::is_same_v<T, double>)
    return value;
  else
    return static_cast<float>(value);
}

namespace {
/// The place in the block of the first of each, or -1.
struct FirstPlaces {
  int64_t nan = -1, inf = -1, count = 0;

  template <typename T>
  void add(const T *elements, int64_t begin, int64_t end) {
    if (areFinite(elements + begin, end - begin))
      return;
    for (int64_t i = begin; i < end; ++i) {
      auto value = widen(elements[i]);
      if (std::isfinite(value))
        continue;
      ++count;
      int64_t &first = std::isnan(value) ? nan : inf;
      if (first < 0)
        first = i;
    }
  }

private:
  /// As a loop without branches.
  template <typename T>
  static bool areFinite(const T *elements, int64_t count) {
    bool areAll = true;
    for (int64_t i = 0; i < count; ++i) {
      auto value = widen(elements[i]);
      // NaN and infinity times zero are NaN.
      areAll &= value * 0 == 0;
    }
    return areAll;
  }
};
} // namespace

static std::vector<int64_t> indexOf(const CheckCall &call, const Block &block,
                                    int64_t place) {
  std::vector<int64_t> index(call.blocks.block.size());
  for (size_t d = index.size(); d-- > 0;) {
    index[d] = block.offset[d] + place % call.blocks.block[d];
    place /= call.blocks.block[d];
  }
  return index;
}

NonFinite findNonFinite(const CheckCall &call, const Block &block,
                        const char *data) {
  FirstPlaces places;
  dispatchType(call.type, [&]<typename T>() {
    if constexpr (!std::is_integral_v<T> && !std::is_same_v<T, Bool>)
      forEachRun(call, block, [&](int64_t begin, int64_t end) {
        places.add(reinterpret_cast<const T *>(data), begin, end);
      });
  });
  NonFinite found{places.nan >= 0, places.inf >= 0, places.count, {}};
  if (places.count != 0)
    found.first =
        indexOf(call, block, places.nan >= 0 ? places.nan : places.inf);
  return found;
}

//===----------------------------------------------------------------------===//
// Hashes
//===----------------------------------------------------------------------===//

/// The element's bits, those of NaN without what they carry.
template <typename T>
static uint64_t bitsOf(T element) {
  if constexpr (!std::is_integral_v<T> && !std::is_same_v<T, Bool>)
    if (std::isnan(widen(element)))
      return 0x7ff8000000000000;
  uint64_t bits = 0;
  std::memcpy(&bits, &element, sizeof(element));
  return bits;
}

uint64_t hashElements(const CheckCall &call, const Block &block,
                      const char *data) {
  uint64_t hash = 0xcbf29ce484222325;
  dispatchType(call.type, [&]<typename T>() {
    const T *elements = reinterpret_cast<const T *>(data);
    forEachRun(call, block, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        hash = (hash ^ bitsOf(elements[i])) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 32;
      }
    });
  });
  return hash;
}

} // namespace shoal::rt
