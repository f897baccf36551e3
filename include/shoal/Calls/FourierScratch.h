// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The scratch of Fourier transforms.

#ifndef SHOAL_CALLS_FOURIERSCRATCH_H
#define SHOAL_CALLS_FOURIERSCRATCH_H

#include "shoal/Calls/FourierCalls.h"
#include "shoal/Calls/Lines.h"
#include "shoal/Calls/Scratch.h"

namespace shoal::calls {

/// The largest prime factor that a length is transformed by. The cost of such a
/// step is its square.
inline constexpr int64_t largestRadix = 61;

inline bool hasSmallFactors(int64_t length) {
  for (int64_t factor = 2; factor <= largestRadix; ++factor)
    while (length % factor == 0)
      length /= factor;
  return length == 1;
}

/// The length of the transforms by which lines of another are transformed: its
/// own, or where that has a large prime factor, the power of 2 that holds its
/// convolution with a chirp (Bluestein's algorithm).
inline int64_t transformedLength(int64_t length) {
  if (hasSmallFactors(length))
    return length;
  int64_t power = 1;
  while (power < 2 * length - 1)
    power *= 2;
  return power;
}

/// A line before and after it is transformed, complex numbers in f64.
inline int64_t scratchBytes(const FftCall &call) {
  int64_t bytes = transformedLength(call.length) * int64_t(2 * sizeof(double));
  return sumOfPieces({bytes, bytes}) *
         linesAtOnce(Lines(call.shape, call.axis).number());
}

} // namespace shoal::calls

#endif // SHOAL_CALLS_FOURIERSCRATCH_H
