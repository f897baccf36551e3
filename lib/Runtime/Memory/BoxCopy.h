// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of boxes between dense tensors, what collectives pack and unpack by.

#ifndef SHOAL_LIB_RUNTIME_MEMORY_BOXCOPY_H
#define SHOAL_LIB_RUNTIME_MEMORY_BOXCOPY_H

#include "../Program/Numeric.h"

namespace shoal::rt {

/// A box of `extent` elements from the dense tensor of shape `sourceShape` at
/// `sourceBegin` to the dense tensor of shape `targetShape` at `targetBegin`.
struct BoxCopy {
  std::span<const int64_t> extent;
  std::span<const int64_t> sourceShape;
  std::span<const int64_t> sourceBegin;
  std::span<const int64_t> targetShape;
  std::span<const int64_t> targetBegin;
};

/// A box copy as loops over source and target, which begin at the offsets.
struct BoxLoops {
  Loops<2> loops;
  Offsets<2> begin;
};

inline BoxLoops loopsOf(const BoxCopy &box) {
  std::vector<int64_t> source = rowMajorStrides(box.sourceShape);
  std::vector<int64_t> target = rowMajorStrides(box.targetShape);
  BoxLoops result{{}, {0, 0}};
  for (size_t d = 0; d < box.extent.size(); ++d) {
    result.loops.push_back({box.extent[d], {source[d], target[d]}});
    result.begin[0] += box.sourceBegin[d] * source[d];
    result.begin[1] += box.targetBegin[d] * target[d];
  }
  return result;
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_MEMORY_BOXCOPY_H
