// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Boxes of indices.

#ifndef SHOAL_LIB_RUNTIME_COMMON_BOX_H
#define SHOAL_LIB_RUNTIME_COMMON_BOX_H

#include "shoal/Support/ElementType.h"

#include <vector>

namespace shoal::rt {

/// Indices [begin, begin + extent) of a tensor.
struct Box {
  std::vector<int64_t> begin, extent;

  int64_t volume() const { return support::numElements(extent); }
};

/// A box of `extent` elements from the dense tensor of shape `sourceShape` at
/// `sourceBegin` to the dense tensor of shape `targetShape` at `targetBegin`.
struct BoxCopy {
  std::span<const int64_t> extent;
  std::span<const int64_t> sourceShape;
  std::span<const int64_t> sourceBegin;
  std::span<const int64_t> targetShape;
  std::span<const int64_t> targetBegin;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COMMON_BOX_H
