// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stable sorting of lines by keys, on the compute stream.

#ifndef SHOAL_LIB_RUNTIME_CUDA_SORTLINES_H
#define SHOAL_LIB_RUNTIME_CUDA_SORTLINES_H

#include "../CUDAKernels/Parameters.h"
#include "../Memory/Scratch.h"
#include "../Program/Numeric.h"
#include "Api.h"

namespace shoal::rt {

/// Keys of all lines in order, and where each was in its line.
struct SortedLines {
  const uint64_t *keys;
  const int32_t *places;
};

/// An operand to sort by.
struct SortKey {
  ElementType type;
  const void *data;
};

/// Sorts lines in scratch (calls::deviceSortBytes), where the result lies. A
/// line has less than 2^31 elements, else the program ends by an error. Lines
/// may be empty.
class LineSorter {
public:
  LineSorter(const SortLines &lines, Scratch &scratch, cudaStream_t stream);

  /// For keys that the caller writes, then `sortKeys`: lines after each other.
  uint64_t *keys() const { return keysOf[0]; }
  SortedLines sortKeys();

  /// The first operand decides first. Of equal elements the first comes first,
  /// also where the order descends.
  SortedLines sort(std::span<const SortKey> operands, bool descending);

  /// out = the first `kept` elements of each line of `in`, in sorted order.
  void move(const SortedLines &sorted, int64_t kept, ElementType type,
            const void *in, void *out) const;

private:
  void readKeys(const SortKey &operand, bool descending, const int32_t *order);
  const int32_t *compose(const int32_t *before, const int32_t *places);

  SortLines lines;
  cudaStream_t stream;
  int64_t total;
  /// Two of each, by turns; orders are those of all keys so far.
  uint64_t *keysOf[2];
  int32_t *placesOf[2];
  int32_t *orders[2];
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_SORTLINES_H
