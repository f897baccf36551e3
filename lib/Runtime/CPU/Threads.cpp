// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Threads.h"
#include "shoal/Runtime/ABI.h"

#include <algorithm>
#include <atomic>
#include <pthread.h>
#include <vector>

// What a parallel region of OpenMP comes to: an entry point that the runtimes
// of GCC and of Clang both have, so that programs are linked with either,
// whatever compiled this library.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" void GOMP_parallel(void (*run)(void *), void *context,
                              unsigned threads, unsigned flags);
extern "C" int omp_get_thread_num(void);
// NOLINTEND(readability-identifier-naming)

namespace shoal::rt {

namespace {

/// What is left of a thread's own part of the pieces. Others help when theirs
/// is done: a core may be busy with something else.
struct alignas(64) Part {
  std::atomic<int64_t> next;
  int64_t end;
};

struct Region {
  detail::RunRange runRange;
  const void *body;
  int64_t count, numPieces;
  std::vector<Part> &parts;

  int64_t beginOf(int64_t piece) const {
    return static_cast<int64_t>(static_cast<__int128>(count) * piece /
                                numPieces);
  }

  /// The work of one thread.
  void run(size_t thread) {
    for (size_t i = 0; i < parts.size(); ++i) {
      Part &part = parts[(thread + i) % parts.size()];
      for (int64_t piece = part.next++; piece < part.end; piece = part.next++)
        runRange(body, beginOf(piece), beginOf(piece + 1));
    }
  }
};

} // namespace

namespace {
struct Pool {
  /// One for each thread. Regions come one after the other, from one thread.
  std::vector<Part> parts = std::vector<Part>(1);
  double least = sharedBytes;
};
} // namespace

static Pool &pool() {
  static Pool pool;
  return pool;
}

/// Whether this thread is in a region, or the process is a fork, which has none
/// of the threads that OpenMP believes in.
static thread_local bool isAlone = false;

void setThreads(int count, double least) {
  [[maybe_unused]] static int once =
      pthread_atfork(nullptr, nullptr, [] { isAlone = true; });
  pool().parts = std::vector<Part>(std::max(count, 1));
  pool().least = least;
}

int threads() { return static_cast<int>(pool().parts.size()); }

/// Several for each thread, so that one that is late holds up less.
static int64_t countPieces(const SharedWork &work) {
  constexpr int64_t perThread = 4;
  auto most = std::min<int64_t>(work.count, perThread * threads());
  double bytes = static_cast<double>(work.count) * work.itemBytes;
  double worth = 4 * bytes / pool().least;
  return worth < static_cast<double>(most) ? static_cast<int64_t>(worth) : most;
}

void detail::run(const SharedWork &work, RunRange runRange, const void *body) {
  if (work.count <= 0)
    return;
  if (isAlone || threads() == 1 || work.count == 1 ||
      static_cast<double>(work.count) * work.itemBytes < pool().least)
    return runRange(body, 0, work.count);
  Region region{runRange, body, work.count, countPieces(work), pool().parts};
  for (int64_t thread = 0; thread < threads(); ++thread) {
    Part &part = region.parts[thread];
    part.next = region.numPieces * thread / threads();
    part.end = region.numPieces * (thread + 1) / threads();
  }
  // Always of as many threads: OpenMP ends those that it does not need.
  GOMP_parallel(
      [](void *region) {
        isAlone = true;
        static_cast<Region *>(region)->run(omp_get_thread_num());
        isAlone = false;
      },
      &region, static_cast<unsigned>(threads()), /*flags=*/0);
}

} // namespace shoal::rt

extern "C" void shoal_rt_parallel_for(int64_t tiles, int64_t bytes,
                                      void (*run)(int64_t begin, int64_t end,
                                                  const void *arguments),
                                      const void *arguments) {
  shoal::rt::parallelFor(
      {tiles, static_cast<double>(bytes)},
      [&](int64_t begin, int64_t end) { run(begin, end, arguments); });
}
