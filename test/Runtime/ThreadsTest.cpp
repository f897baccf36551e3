// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CPU/SharedLoops.h"

#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace shoal::rt;
using namespace shoal::products;

namespace {

/// Gives the threads up that a test has asked for.
class Threads : public testing::Test {
protected:
  void TearDown() override { setThreads(1); }

  static constexpr double always = 1e-9;
};

TEST_F(Threads, every_item_is_done_once) {
  for (int count : {1, 2, 3, 8}) {
    setThreads(count, always);
    EXPECT_EQ(threads(), count);
    for (int64_t items : {0, 1, 2, 7, 100, 10007}) {
      std::vector<std::atomic<int>> done(items);
      parallelFor({items, 1}, [&](int64_t begin, int64_t end) {
        EXPECT_LT(begin, end);
        for (int64_t i = begin; i < end; ++i)
          ++done[i];
      });
      EXPECT_THAT(std::vector<int>(done.begin(), done.end()), testing::Each(1))
          << count << " threads";
    }
  }
}

/// Where a body runs for each of so many items of so many bytes.
std::multiset<std::thread::id> runOn(int64_t items, double bytes) {
  std::mutex mutex;
  std::multiset<std::thread::id> ids;
  parallelFor({items, bytes}, [&](int64_t, int64_t) {
    std::scoped_lock lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  return ids;
}

TEST_F(Threads, little_work_stays_in_one_piece_on_its_thread) {
  setThreads(4);
  EXPECT_THAT(runOn(1000, sharedBytes / 1001),
              testing::ElementsAre(std::this_thread::get_id()));
  // From where on it is shared, a piece for each quarter.
  EXPECT_EQ(runOn(1000, sharedBytes / 1000).size(), 4);
  // And never in more than four for each thread.
  EXPECT_EQ(runOn(1000, sharedBytes).size(), 16);
}

TEST_F(Threads, what_a_body_calls_is_done_on_its_thread) {
  setThreads(3, always);
  std::atomic<int> outside = 0, inner = 0;
  parallelFor({30, 1}, [&](int64_t begin, int64_t end) {
    auto id = std::this_thread::get_id();
    parallelFor({end - begin, 1}, [&](int64_t first, int64_t last) {
      outside += std::this_thread::get_id() != id;
      inner += static_cast<int>(last - first);
    });
  });
  EXPECT_EQ(outside, 0);
  EXPECT_EQ(inner, 30);
}

TEST_F(Threads, a_forked_process_goes_on_alone) {
  setThreads(2, always);
  runOn(10, 1); // OpenMP's threads are there
  pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0)
    _exit(runOn(10, 1).size() == 1 ? 0 : 1); // one piece
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_GT(runOn(10, 1).size(), 1);
}

static const shoal::support::Threshold strip("steps of a strip of a test", 4);

TEST_F(Threads, strips_are_all_steps_of_all_iterations) {
  for (int count : {1, 3}) {
    setThreads(count, always);
    // [2, 3] rows of 10 steps; operand 1 has no rows.
    std::vector<std::atomic<int>> done(60);
    forEachStrip<2>({{2, {30, 0}}, {3, {10, 0}}}, {10, {1, 1}}, strip,
                    /*bytes=*/1,
                    [&](const Offsets<2> &at, int64_t first, int64_t steps) {
                      EXPECT_EQ(at[0] % 10, first);
                      EXPECT_EQ(at[1], first);
                      EXPECT_EQ(steps, first == 8 ? 2 : 4);
                      for (int64_t i = 0; i < steps; ++i)
                        ++done[at[0] + i];
                    });
    EXPECT_THAT(std::vector<int>(done.begin(), done.end()), testing::Each(1));
  }
}

TEST_F(Threads, a_range_of_iterations_begins_where_it_should) {
  Loops<1> loops = {{2, {100}}, {3, {10}}, {4, {1}}};
  std::vector<int64_t> all, parts;
  forEach<1>(loops, [&](const Offsets<1> &at) { all.push_back(at[0]); });
  EXPECT_EQ(all.size(), 24);
  for (int64_t begin = 0; begin < 24; begin += 5)
    forRange<1>(loops, begin, std::min<int64_t>(begin + 5, 24),
                [&](const Offsets<1> &at) { parts.push_back(at[0]); });
  EXPECT_EQ(parts, all);
}

} // namespace
