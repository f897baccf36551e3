// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CPU/ThreadPool.h"
#include "CPU/Threads.h"

#include <gtest/gtest.h>

using namespace shoal::rt;
using namespace std::chrono_literals;

namespace {

/// Runs a callable as a region; false where another one is open.
template <typename Body>
bool runRegion(ThreadPool &pool, Body body) {
  return pool.run(
      [](void *body, int thread) { (*static_cast<Body *>(body))(thread); },
      &body);
}

/// Waits for `condition`, for seconds at most.
template <typename Condition>
bool comesTrue(Condition condition) {
  auto end = std::chrono::steady_clock::now() + 20s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end)
      return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

TEST(ThreadPool, who_comes_is_done_when_the_region_ends) {
  ThreadPool pool(3);
  for (int round = 0; round < 20000; ++round) {
    std::atomic<int> inside = 0, came = 0;
    ASSERT_TRUE(runRegion(pool, [&](int) {
      ++inside;
      ++came;
      --inside;
    }));
    ASSERT_EQ(inside, 0);
    ASSERT_GE(came, 1);
    ASSERT_LE(came, 4);
  }
}

TEST(ThreadPool, helpers_come) {
  ThreadPool pool(2);
  // However long these have slept.
  for (auto pause : {0ms, 1ms, 20ms}) {
    std::this_thread::sleep_for(pause);
    std::atomic<int> came = 0;
    runRegion(pool, [&](int) {
      ++came;
      EXPECT_TRUE(comesTrue([&] { return came == 3; }));
    });
    EXPECT_EQ(came, 3);
  }
}

TEST(ThreadPool, a_region_ends_without_those_that_did_not_come) {
  ThreadPool pool(1);
  std::atomic<bool> isHeld = false, isFree = false;
  // One that is kept in a region is waited for,
  std::thread other([&] {
    runRegion(pool, [&](int thread) {
      if (thread == 1)
        isHeld = true;
      EXPECT_TRUE(comesTrue(
          [&] { return thread == 0 ? isHeld.load() : isFree.load(); }));
    });
  });
  ASSERT_TRUE(comesTrue([&] { return isHeld.load(); }));
  // another caller is told so,
  EXPECT_FALSE(runRegion(pool, [](int) { FAIL(); }));
  isFree = true;
  other.join();
  // and there is nobody to wait for where there are no helpers left.
  ThreadPool none(0);
  EXPECT_TRUE(runRegion(none, [](int thread) { EXPECT_EQ(thread, 0); }));
}

TEST(ThreadPool, idle_helpers_end_and_start_again) {
  ThreadPool pool(2, /*idle=*/5ms);
  EXPECT_EQ(pool.numRunning(), 0);
  for (int round = 0; round < 3; ++round) {
    runRegion(pool, [](int) {});
    EXPECT_EQ(pool.numRunning(), 2);
    EXPECT_TRUE(comesTrue([&] { return pool.numRunning() == 0; }));
  }
}

TEST(ThreadPool, what_two_threads_share_at_a_time_is_done_by_each) {
  setThreads(3, /*least=*/1e-9);
  auto addUp = [] {
    for (int round = 0; round < 2000; ++round) {
      std::atomic<int64_t> sum = 0;
      parallelFor({100, 1}, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          sum += i;
      });
      ASSERT_EQ(sum, 4950);
    }
  };
  std::thread other(addUp);
  addUp();
  other.join();
  setThreads(1);
}

} // namespace
