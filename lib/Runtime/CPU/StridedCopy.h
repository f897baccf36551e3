// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between strided tensors, the data movement of every runtime call.

#ifndef SHOAL_LIB_RUNTIME_CPU_STRIDEDCOPY_H
#define SHOAL_LIB_RUNTIME_CPU_STRIDEDCOPY_H

#include "../Common/Loops.h"
#include "../Common/Numeric.h"

namespace shoal::rt {

/// Operand 0 is the source, operand 1 the target; the target's elements are
/// distinct. Converts by convert<>; transposes go through cache-sized tiles.
void copyStrided(Loops<2> loops, ElementType from, const void *source,
                 ElementType to, void *target);

/// A box of `extent` elements from the dense tensor of shape `sourceShape` at
/// `sourceBegin` to the dense tensor of shape `targetShape` at `targetBegin`.
struct BoxCopy {
  std::span<const int64_t> extent;
  std::span<const int64_t> sourceShape;
  std::span<const int64_t> sourceBegin;
  std::span<const int64_t> targetShape;
  std::span<const int64_t> targetBegin;
};

void copyBox(const BoxCopy &box, ElementType type, const void *source,
             void *target);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_STRIDEDCOPY_H
