// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of rows past the caches.

#ifndef SHOAL_LIB_RUNTIME_CPU_ROWCOPY_H
#define SHOAL_LIB_RUNTIME_CPU_ROWCOPY_H

#include "shoal/Support/Threshold.h"

#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace shoal::rt {

/// A result of so many bytes is written past the caches: who reads it finds
/// little of it there, and each line would be loaded before it is written.
inline const support::Threshold
    streamedBytes("bytes of a gather past the caches", 16 << 20);

/// Shorter rows are not: of them the memory wants several at a time.
inline const support::Threshold leastStreamed("bytes of a row past the caches",
                                              1024);

#ifdef __AVX__
using StreamedVector = __m256i;
#elif defined(__SSE2__)
using StreamedVector = __m128i;
#endif

/// Copies a row. Others see it once finishStreams has been called.
inline void streamRow(char *to, const char *from, int64_t bytes) {
#ifdef __SSE2__
  constexpr int64_t width = sizeof(StreamedVector);
  // The part in front of the first whole vector.
  int64_t at = -reinterpret_cast<intptr_t>(to) & (width - 1);
  if (leastStreamed.isReachedBy(bytes)) {
    std::memcpy(to, from, at);
    for (; at + width <= bytes; at += width) {
      StreamedVector vector;
      std::memcpy(&vector, from + at, width);
#ifdef __AVX__
      _mm256_stream_si256(reinterpret_cast<StreamedVector *>(to + at), vector);
#else
      _mm_stream_si128(reinterpret_cast<StreamedVector *>(to + at), vector);
#endif
    }
    std::memcpy(to + at, from + at, bytes - at);
    return;
  }
#endif
  std::memcpy(to, from, bytes);
}

inline void finishStreams() {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_ROWCOPY_H
