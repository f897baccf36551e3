// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loop nests over strided operands: the common form of copies, transposes,
// reductions and products.

#ifndef SHOAL_PRODUCTS_LOOPS_H
#define SHOAL_PRODUCTS_LOOPS_H

#include "shoal/Calls/ProductPlan.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace shoal::products {

using calls::Loop;
using calls::Loops;

template <size_t N>
using Offsets = std::array<int64_t, N>;

inline std::vector<int64_t> rowMajorStrides(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

template <size_t N>
bool isEmpty(const Loops<N> &loops) {
  return std::any_of(loops.begin(), loops.end(),
                     [](const Loop<N> &loop) { return loop.size == 0; });
}

/// How often the innermost body runs; 1 without loops.
template <size_t N>
int64_t iterations(const Loops<N> &loops) {
  int64_t count = 1;
  for (const Loop<N> &loop : loops)
    count *= loop.size;
  return count;
}

/// Drops loops of size 1, orders the others by falling stride of operand
/// `leader` and merges neighbours that walk every operand as one loop. Only for
/// nests without zero sizes whose iterations may run in any order.
template <size_t N>
Loops<N> simplify(Loops<N> loops, size_t leader) {
  std::erase_if(loops, [](const Loop<N> &loop) { return loop.size == 1; });
  std::sort(loops.begin(), loops.end(),
            [&](const Loop<N> &a, const Loop<N> &b) {
              if (a.strides[leader] != b.strides[leader])
                return a.strides[leader] > b.strides[leader];
              return a.strides > b.strides;
            });
  Loops<N> merged;
  for (const Loop<N> &loop : loops) {
    auto follows = [&](const Loop<N> &major) {
      for (size_t i = 0; i < N; ++i)
        if (major.strides[i] != loop.strides[i] * loop.size)
          return false;
      return true;
    };
    if (!merged.empty() && follows(merged.back()))
      merged.back() = {merged.back().size * loop.size, loop.strides};
    else
      merged.push_back(loop);
  }
  return merged;
}

/// Calls body(offsets) for the iterations begin ... end - 1, the last loop
/// fastest. Sizes are at least 1.
template <size_t N, typename Body>
void forRange(std::span<const Loop<N>> loops, int64_t begin, int64_t end,
              Body &&body) {
  Offsets<N> offsets = {};
  std::vector<int64_t> index(loops.size(), 0);
  int64_t rest = begin;
  for (size_t l = loops.size(); rest != 0 && l-- > 0;) {
    index[l] = rest % loops[l].size;
    rest /= loops[l].size;
    for (size_t i = 0; i < N; ++i)
      offsets[i] += loops[l].strides[i] * index[l];
  }
  for (int64_t iteration = begin; iteration < end; ++iteration) {
    body(offsets);
    size_t l = loops.size();
    while (l-- > 0) {
      const Loop<N> &loop = loops[l];
      if (++index[l] < loop.size) {
        for (size_t i = 0; i < N; ++i)
          offsets[i] += loop.strides[i];
        break;
      }
      index[l] = 0;
      for (size_t i = 0; i < N; ++i)
        offsets[i] -= loop.strides[i] * (loop.size - 1);
    }
  }
}

/// So for every iteration.
template <size_t N, typename Body>
void forEach(std::span<const Loop<N>> loops, Body &&body) {
  int64_t count = 1;
  for (const Loop<N> &loop : loops)
    count *= loop.size;
  forRange<N>(loops, 0, count, body);
}

} // namespace shoal::products

#endif // SHOAL_PRODUCTS_LOOPS_H
