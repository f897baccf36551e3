// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on shapes and blocks.

#ifndef SHOAL_CALLS_SIZES_H
#define SHOAL_CALLS_SIZES_H

#include "shoal/Support/ElementType.h"

#include <algorithm>

namespace shoal::calls {

/// Of a dense tensor; of one element for an empty shape.
inline int64_t bytesOf(support::ElementType type,
                       std::span<const int64_t> shape) {
  return support::numElements(shape) *
         static_cast<int64_t>(support::elementSize(type));
}

inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// How many of the rows [begin, begin + count) lie before `end`.
inline int64_t rowsBefore(int64_t end, int64_t begin, int64_t count) {
  return std::clamp<int64_t>(end - begin, 0, count);
}

} // namespace shoal::calls

#endif // SHOAL_CALLS_SIZES_H
