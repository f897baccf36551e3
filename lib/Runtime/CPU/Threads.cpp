// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Threads.h"
#include "ThreadPool.h"
#include "shoal/Runtime/ABI.h"
#include "shoal/Support/Threshold.h"

#include <algorithm>
#include <memory>
#include <pthread.h>

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
  /// One for each thread.
  std::vector<Part> parts;

  Region(detail::RunRange runRange, const void *body, int64_t count,
         int64_t numPieces, int numThreads)
      : runRange(runRange), body(body), count(count), numPieces(numPieces),
        parts(numThreads) {
    for (int64_t thread = 0; thread < numThreads; ++thread) {
      parts[thread].next = numPieces * thread / numThreads;
      parts[thread].end = numPieces * (thread + 1) / numThreads;
    }
  }

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

/// Whether this thread is in a region, or the process is a fork, which has none
/// of the helpers.
static thread_local bool isAlone = false;

namespace {
struct Team {
  int count = 1;
  double least = sharedBytes;
  /// Null where there is one thread.
  std::unique_ptr<ThreadPool> pool;

  /// Helpers can only be waited for where they are, and not from one of them.
  ~Team() {
    if (isAlone)
      abandon();
  }
  void abandon() { [[maybe_unused]] ThreadPool *left = pool.release(); }
};
} // namespace

static Team &team() {
  static Team team;
  return team;
}

void setThreads(int count, double least) {
  [[maybe_unused]] static int once = pthread_atfork(nullptr, nullptr, [] {
    isAlone = true;
    team().abandon();
  });
  team().least = least;
  if (count == team().count)
    return;
  team().count = std::max(count, 1);
  team().pool = count > 1 ? std::make_unique<ThreadPool>(count - 1) : nullptr;
}

int threads() { return team().count; }

static const support::Threshold
    leastShared("work that threads share, as parts of 128 KiB", 1);

/// Several for each thread, so that one that is late holds up less.
static int64_t countPieces(const SharedWork &work) {
  constexpr int64_t perThread = 4;
  auto most = std::min<int64_t>(work.count, perThread * threads());
  double bytes = static_cast<double>(work.count) * work.itemBytes;
  double worth = 4 * bytes / team().least;
  return worth < static_cast<double>(most) ? static_cast<int64_t>(worth) : most;
}

void detail::run(const SharedWork &work, RunRange runRange, const void *body) {
  if (work.count <= 0)
    return;
  Team &team = rt::team();
  auto runHere = [&] { runRange(body, 0, work.count); };
  if (isAlone || !team.pool || work.count == 1 ||
      !leastShared.isReachedBy(static_cast<double>(work.count) *
                               work.itemBytes / team.least))
    return runHere();
  Region region(runRange, body, work.count, countPieces(work), team.count);
  auto runPart = [](void *region, int thread) {
    isAlone = true;
    static_cast<Region *>(region)->run(thread);
    isAlone = false;
  };
  if (!team.pool->run(runPart, &region))
    runHere();
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
