// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How the memory that a call has for its own length is made up of pieces.
// `scratchBytes(call, onDevice)` says beside each call how many bytes that are:
// the compiler provides them, the runtime takes its pieces of them.

#ifndef SHOAL_CALLS_SCRATCH_H
#define SHOAL_CALLS_SCRATCH_H

#include <cstdint>
#include <initializer_list>

namespace shoal::calls {

/// Pieces begin at multiples of so many bytes.
inline constexpr int64_t scratchAlignment = 64;

/// What pieces of so many bytes take together.
inline int64_t sumOfPieces(std::initializer_list<int64_t> pieces) {
  int64_t sum = 0;
  for (int64_t bytes : pieces)
    sum += (bytes + scratchAlignment - 1) / scratchAlignment * scratchAlignment;
  return sum;
}

} // namespace shoal::calls

#endif // SHOAL_CALLS_SCRATCH_H
