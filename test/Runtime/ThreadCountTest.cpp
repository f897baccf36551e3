// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CPU/ThreadCount.h"
#include "Run/Options.h"

#include <gtest/gtest.h>

using namespace shoal::rt;

namespace {

CpuMask makeMask(int begin, int end) {
  CpuMask mask;
  for (int cpu = begin; cpu < end; ++cpu)
    mask.add(cpu);
  return mask;
}

/// The shares of ranks with these masks.
std::vector<int> shares(const std::vector<CpuMask> &node) {
  std::vector<int> shares;
  for (const CpuMask &mask : node)
    shares.push_back(shareOf(mask, node));
  return shares;
}

TEST(ThreadCount, a_rank_alone_has_all_that_it_may_run_on) {
  EXPECT_EQ(shares({makeMask(0, 16)}), std::vector<int>({16}));
  EXPECT_EQ(shares({makeMask(70, 71)}), std::vector<int>({1}));
}

TEST(ThreadCount, ranks_that_are_bound_nowhere_share) {
  EXPECT_EQ(shares({4, makeMask(0, 8)}), std::vector<int>({2, 2, 2, 2}));
  EXPECT_EQ(shares({3, makeMask(0, 8)}), std::vector<int>({2, 2, 2}));
  EXPECT_EQ(shares({3, makeMask(0, 6)}), std::vector<int>({2, 2, 2}));
}

TEST(ThreadCount, more_ranks_than_cores_have_one_each) {
  EXPECT_EQ(shares({5, makeMask(0, 2)}), std::vector<int>({1, 1, 1, 1, 1}));
}

TEST(ThreadCount, ranks_that_are_bound_have_their_own) {
  EXPECT_EQ(shares({makeMask(0, 4), makeMask(4, 8)}), std::vector<int>({4, 4}));
  EXPECT_EQ(shares({makeMask(0, 1), makeMask(1, 2)}), std::vector<int>({1, 1}));
}

TEST(ThreadCount, two_ranks_on_each_of_two_sockets) {
  EXPECT_EQ(shares({makeMask(0, 32), makeMask(0, 32), makeMask(32, 64),
                    makeMask(32, 64)}),
            std::vector<int>({16, 16, 16, 16}));
}

TEST(ThreadCount, what_several_may_run_on_is_shared_where_masks_differ) {
  // Processors 4 ... 7 are shared.
  EXPECT_EQ(shares({makeMask(0, 8), makeMask(4, 8)}), std::vector<int>({6, 2}));
}

TEST(ThreadCount, of_this_process_is_at_least_one) {
  CpuMask mine = CpuMask::ofProcess();
  EXPECT_GE(shareOf(mine, {&mine, 1}), 1);
}

TEST(ThreadCount, numbers_are_from_1_to_1024) {
  EXPECT_EQ(*parseThreads("1"), 1);
  EXPECT_EQ(*parseThreads("1024"), 1024);
  auto errorOf = [](const char *text) {
    return parseThreads(text).error().message;
  };
  EXPECT_EQ(errorOf("0"), "\"0\" is not a number of at least 1");
  EXPECT_EQ(errorOf("-2"), "\"-2\" is not a number of at least 1");
  EXPECT_EQ(errorOf("two"), "\"two\" is not a number of at least 1");
  EXPECT_EQ(errorOf("2 "), "\"2 \" is not a number of at least 1");
  EXPECT_EQ(errorOf("1025"), "\"1025\" is more than 1024");
}

} // namespace
