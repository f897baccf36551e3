// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The threads of a rank: those that call, and helpers (ThreadPool.h). What they
// share is cut without a look at their number, or into parts whose results do
// not depend on the cut: results are the same for all numbers of threads
// (docs/guide/Threads.md).

#ifndef SHOAL_LIB_RUNTIME_CPU_THREADS_H
#define SHOAL_LIB_RUNTIME_CPU_THREADS_H

#include <cstdint>
#include <type_traits>

namespace shoal::rt {

/// From where on threads take work together: 16 us of a core's way to memory,
/// beside 2 us of a start.
inline constexpr double sharedBytes = 128 << 10;

/// How many threads a rank has from now on, itself among them; 1 at first. They
/// share work of `least` bytes or more, and each takes at least a quarter of
/// that at a time.
void setThreads(int count, double least = sharedBytes);
int threads();

/// Work that may be done in any order and at the same time.
struct SharedWork {
  /// Items, numbered from 0.
  int64_t count;
  /// What an item costs, as the bytes that take as long to move.
  double itemBytes;
};

/// Bytes that take as long to move as a multiplication with an addition in a
/// library's product, and in our own loops.
inline constexpr double bytesPerTerm = 0.25, bytesPerLoopTerm = 2;

namespace detail {
using RunRange = void (*)(const void *body, int64_t begin, int64_t end);
void run(const SharedWork &work, RunRange runRange, const void *body);
} // namespace detail

/// Calls body(begin, end) for ranges that together are all items, at the same
/// time on threads if that is worth it. What a body calls may share work: it is
/// done by the thread that it is on. So is what a second thread of the program
/// calls at the same time.
template <typename Body>
void parallelFor(const SharedWork &work, const Body &body) {
  detail::run(
      work,
      [](const void *body, int64_t begin, int64_t end) {
        (*static_cast<const Body *>(body))(begin, end);
      },
      &body);
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_THREADS_H
