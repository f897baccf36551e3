// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loop nests that threads share.

#ifndef SHOAL_LIB_RUNTIME_CPU_SHAREDLOOPS_H
#define SHOAL_LIB_RUNTIME_CPU_SHAREDLOOPS_H

#include "Threads.h"
#include "shoal/Products/Loops.h"
#include "shoal/Support/Threshold.h"

namespace shoal::rt {

/// Calls body(offsets) for every iteration, which costs `bytes`.
template <size_t N, typename Body>
void forEachShared(const products::Loops<N> &loops, double bytes,
                   const Body &body) {
  parallelFor({products::iterations(loops), bytes},
              [&](int64_t begin, int64_t end) {
                products::forRange<N>(loops, begin, end, body);
              });
}

/// Calls body(offsets, first, count) in every iteration of `outer` for all
/// steps of `inner`, at most the value of `most` at a time, the first of which
/// is number `first`. A step costs `bytes`.
template <size_t N, typename Body>
void forEachStrip(const products::Loops<N> &outer,
                  const products::Loop<N> &inner,
                  const support::Threshold &most, double bytes,
                  const Body &body) {
  products::Loops<N> nest = outer;
  auto strip = static_cast<int64_t>(most.value);
  int64_t strips = most.isReachedBy(inner.size)
                       ? (inner.size + strip - 1) / strip
                       : std::min<int64_t>(inner.size, 1);
  nest.push_back({strips, inner.strides});
  for (int64_t &stride : nest.back().strides)
    stride *= strip;
  double stripBytes =
      bytes * static_cast<double>(inner.size) / static_cast<double>(strips);
  parallelFor({products::iterations(nest), stripBytes},
              [&](int64_t begin, int64_t end) {
                int64_t number = begin;
                products::forRange<N>(
                    nest, begin, end, [&](const products::Offsets<N> &at) {
                      int64_t first = number++ % strips * strip;
                      body(at, first, std::min(strip, inner.size - first));
                    });
              });
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_SHAREDLOOPS_H
