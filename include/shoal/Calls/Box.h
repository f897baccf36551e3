// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Boxes of indices.

#ifndef SHOAL_CALLS_BOX_H
#define SHOAL_CALLS_BOX_H

#include "shoal/Support/ElementType.h"

#include <vector>

namespace shoal::calls {

/// Indices [begin, begin + extent) of a tensor.
struct Box {
  std::vector<int64_t> begin, extent;

  bool operator==(const Box &) const = default;
  int64_t volume() const { return support::numElements(extent); }
};

} // namespace shoal::calls

#endif // SHOAL_CALLS_BOX_H
