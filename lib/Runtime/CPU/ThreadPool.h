// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that help the one that calls, if they have a core to do it on.

#ifndef SHOAL_LIB_RUNTIME_CPU_THREADPOOL_H
#define SHOAL_LIB_RUNTIME_CPU_THREADPOOL_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace shoal::rt {

/// A call is a *region*: it opens, who comes takes part, it closes when the
/// caller has nothing left to do, and ends when those who came are done. There
/// is no barrier: a helper that the system runs late finds the region closed,
/// and nobody has waited for it.
///
/// Helpers start with the first region. Between regions they wait awake for
/// `awake`, giving way to whom else the core is for, then asleep; after `idle`
/// without a region they end, and start again with the next one.
class ThreadPool {
public:
  using Work = void (*)(void *context, int thread);
  static constexpr std::chrono::microseconds awake{100};
  static constexpr std::chrono::seconds defaultIdle{5};

  explicit ThreadPool(int numHelpers,
                      std::chrono::nanoseconds idle = defaultIdle)
      : slots(numHelpers), idle(idle) {}
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;

  /// Calls work(context, 0) here and, at the same time, work(context, i) on the
  /// helpers i = 1, 2, ... that come. False, and nothing is called, while
  /// another thread's region is open. `work` does not throw.
  bool run(Work work, void *context);

  /// Helpers that have not ended.
  int numRunning() const { return running.load(); }

private:
  struct Slot {
    std::thread thread;
    bool isRunning = false;
  };
  /// What `gate` holds: the region's number, whether one may still come, and
  /// how many of those who came are not done.
  static constexpr uint64_t inside = 0xffff, open = 0x10000,
                            number = ~0x1ffffULL, next = 0x20000;

  void startMissing();
  void help(int thread);
  bool waitForRegion(uint64_t seen);
  bool enter(uint64_t &seen);
  void leave();
  void close();

  std::vector<Slot> slots;
  const std::chrono::nanoseconds idle;
  std::atomic<bool> isBusy = false;
  std::atomic<int> running = 0, sleepers = 0;
  alignas(64) std::atomic<uint64_t> gate = 0;
  Work work = nullptr;
  void *context = nullptr;
  std::mutex mutex;
  std::condition_variable opened, done;
  bool isStopping = false;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_THREADPOOL_H
