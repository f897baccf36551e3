// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ThreadPool.h"

#include <csignal>
#include <pthread.h>
#include <sched.h>

namespace shoal::rt {

using Clock = std::chrono::steady_clock;

static void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits awake for `condition`; false where it did not come in time. Others may
/// need the core, the thread that is waited for among them: they get it every
/// few microseconds.
template <typename Condition>
static bool waitAwake(const Condition &condition) {
  constexpr int looks = 64;
  auto end = Clock::now() + ThreadPool::awake;
  do {
    for (int i = 0; i < looks; ++i) {
      if (condition())
        return true;
      relax();
    }
    sched_yield();
  } while (Clock::now() < end);
  return false;
}

//===----------------------------------------------------------------------===//
// Who calls
//===----------------------------------------------------------------------===//

bool ThreadPool::run(Work newWork, void *newContext) {
  if (isBusy.exchange(true, std::memory_order_acquire))
    return false;
  work = newWork;
  context = newContext;
  // What sleeps counts itself before it looks at the gate, in one order with
  // this: one of the two sees the other.
  gate.store((gate.load() & number) + next + open);
  if (running.load() < static_cast<int>(slots.size()))
    startMissing();
  if (sleepers.load() > 0) {
    {
      std::scoped_lock lock(mutex);
    }
    opened.notify_all();
  }
  newWork(newContext, 0);
  close();
  isBusy.store(false, std::memory_order_release);
  return true;
}

void ThreadPool::close() {
  uint64_t left = gate.fetch_and(~open, std::memory_order_acq_rel) & inside;
  auto isEmpty = [&] {
    return (gate.load(std::memory_order_acquire) & inside) == 0;
  };
  if (left == 0 || waitAwake(isEmpty))
    return;
  std::unique_lock lock(mutex);
  done.wait(lock, isEmpty);
}

/// Signals are for the threads that were there before.
void ThreadPool::startMissing() {
  std::scoped_lock lock(mutex);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (size_t i = 0; i < slots.size(); ++i) {
    Slot &slot = slots[i];
    if (slot.isRunning)
      continue;
    if (slot.thread.joinable())
      slot.thread.join();
    slot.thread = std::thread([this, i] { help(static_cast<int>(i) + 1); });
    slot.isRunning = true;
    ++running;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ThreadPool::~ThreadPool() {
  {
    std::scoped_lock lock(mutex);
    isStopping = true;
  }
  opened.notify_all();
  for (Slot &slot : slots)
    if (slot.thread.joinable())
      slot.thread.join();
}

//===----------------------------------------------------------------------===//
// Who helps
//===----------------------------------------------------------------------===//

void ThreadPool::help(int thread) {
  uint64_t seen = 0;
  while (waitForRegion(seen))
    if (enter(seen)) {
      work(context, thread);
      leave();
    }
  std::scoped_lock lock(mutex);
  slots[thread - 1].isRunning = false;
  --running;
}

/// For a region that is not the one `seen`; false if the thread is to end.
bool ThreadPool::waitForRegion(uint64_t seen) {
  auto isNew = [&] { return (gate.load() & number) != seen; };
  if (waitAwake(isNew))
    return true;
  std::unique_lock lock(mutex);
  ++sleepers;
  opened.wait_for(lock, idle, [&] { return isStopping || isNew(); });
  --sleepers;
  return !isStopping && isNew();
}

/// False if the region is closed by now. Sets what was seen either way.
bool ThreadPool::enter(uint64_t &seen) {
  uint64_t now = gate.load(std::memory_order_acquire);
  while (now & open)
    if (gate.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel))
      break;
  seen = now & number;
  return now & open;
}

/// The last one to leave a closed region wakes who closed it.
void ThreadPool::leave() {
  uint64_t left = gate.fetch_sub(1, std::memory_order_acq_rel) - 1;
  if (left & (open | inside))
    return;
  {
    std::scoped_lock lock(mutex);
  }
  done.notify_one();
}

} // namespace shoal::rt
