// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How kernels go through loop nests and rows, for both sides of a launch. A
// division of 64 bits costs a GPU about a hundred instructions, more than
// memory leaves time for while a thread moves 16 bytes. So the host prepares
// what a kernel divides by, and indices have 32 bits where they can.

#ifndef SHOAL_LIB_RUNTIME_CUDAKERNELS_NESTS_H
#define SHOAL_LIB_RUNTIME_CUDAKERNELS_NESTS_H

#include <cstdint>

namespace shoal::rt {

/// A number that kernels divide by, not negative. See divide.
///
/// index / value is the upper half of 2 index * multiplier, shifted, for each
/// index below 2^31 (Granlund and Montgomery, Division by Invariant Integers
/// using Multiplication, 1994): 2^shift >= value, and the multiplier exceeds
/// 2^(31 + shift) / value by at most 1, so that the product, divided by
/// 2^(32 + shift), exceeds the quotient by less than 1 / value.
struct Divisor {
  int64_t value;
  uint32_t multiplier;
  int32_t shift;

  Divisor() = default;
  // Sizes of the host's side become divisors.
  constexpr Divisor(int64_t value) // NOLINT(google-explicit-constructor)
      : value(value), multiplier(0), shift(0) {
    if (value <= 0 || value > INT32_MAX) // of indices, the quotient is 0
      return;
    while ((int64_t(1) << shift) < value)
      ++shift;
    multiplier =
        static_cast<uint32_t>((int64_t(1) << (31 + shift)) / value + 1);
  }

  constexpr operator int64_t() const { return value; } // NOLINT
};

/// Loops of a nest; neighbours are merged before, so that few are left.
inline constexpr int maxNestLoops = 16;

/// A nest over N operands, the last loop fastest. See Loops.h.
template <int N>
struct Nest {
  int32_t rank;
  /// The product of the sizes.
  Divisor count;
  Divisor size[maxNestLoops];
  int64_t strides[maxNestLoops][N];
};

/// `count` rows of `length` items each. A group of 2^groupBits neighbouring
/// threads takes a chunk of a row at a time: threadItems items a thread,
/// neighbours next to each other. What is computed once for a chunk counts
/// little, and loads of several items are under way at a time.
inline constexpr int threadItems = 4;
struct Rows {
  int64_t count;
  int64_t length;
  /// In a row.
  Divisor chunks;
  int32_t groupBits;

  Rows() = default;
  constexpr Rows(int64_t count, int64_t length)
      : count(count), length(length), chunks(0), groupBits(0) {
    constexpr int mostBits = 8; // a block of threads
    while (groupBits < mostBits && (int64_t(threadItems) << groupBits) < length)
      ++groupBits;
    int64_t chunk = int64_t(threadItems) << groupBits;
    chunks = (length + chunk - 1) / chunk;
  }

  constexpr int64_t threads() const {
    return (count * chunks.value) << groupBits;
  }
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDAKERNELS_NESTS_H
