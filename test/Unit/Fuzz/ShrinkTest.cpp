// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Fuzz/Shrink.h"
#include "gmock/gmock.h"
#include <set>

using namespace shoal::fuzz;
using testing::ElementsAre;
using List = std::vector<uint32_t>;

/// Groups of two draws until the first of a group is 0.
static std::vector<std::pair<uint32_t, uint32_t>> groupsOf(Choices &choices) {
  std::vector<std::pair<uint32_t, uint32_t>> groups;
  while (true) {
    Choices::Scope scope(choices);
    uint32_t goesOn = choices.below(4);
    if (goesOn == 0)
      return groups;
    groups.push_back({goesOn, choices.below(100)});
  }
}

static Choices replay(List list) {
  Choices choices(std::move(list));
  groupsOf(choices);
  return choices;
}

TEST(Choices, ReplayDrawsWhatWasDrawn) {
  Choices random(7);
  auto groups = groupsOf(random);
  Choices again(random.getDrawn().vec());
  EXPECT_EQ(groupsOf(again), groups);
  EXPECT_EQ(again.getDrawn(), random.getDrawn());
}

TEST(Choices, ReplayDrawsZerosPastTheEndAndStaysInRange) {
  Choices choices(List{9});
  EXPECT_EQ(choices.below(4), 3u);
  EXPECT_EQ(choices.below(4), 0u);
  EXPECT_FALSE(choices.chance(99));
}

TEST(Shrink, FindsTheSmallestFailure) {
  // Fails where two groups add up to 70 or more.
  auto fails = [](const List &list) {
    Choices choices(list);
    uint32_t most = 0, second = 0;
    for (auto [goesOn, value] : groupsOf(choices)) {
      second = std::max(second, std::min(most, value));
      most = std::max(most, value);
    }
    return most + second >= 70 && second >= 20;
  };
  List start{3, 5, 2, 60, 1, 8, 3, 40, 2, 99, 0};
  ASSERT_TRUE(fails(start));
  List small = shrink(start, replay, fails, /*maxTries=*/1000);
  EXPECT_TRUE(fails(small));
  EXPECT_EQ(small.size(), 4u);
  EXPECT_EQ(small[1] + small[3], 70u);
}

TEST(Shrink, KeepsWhatCannotBeMadeSmaller) {
  auto fails = [](const List &list) { return list == List{1, 1}; };
  EXPECT_THAT(shrink({1, 1}, replay, fails, 100), ElementsAre(1, 1));
}

TEST(Shrink, StopsAfterTheTries) {
  unsigned tries = 0;
  auto fails = [&](const List &) { return ++tries, true; };
  shrink({3, 99, 3, 99, 3, 99}, replay, fails, 2);
  EXPECT_EQ(tries, 2u);
}

TEST(Shrink, ManyGroupsGoAtOnceAndNothingIsTriedTwice) {
  List start;
  for (uint32_t i = 0; i < 200; ++i)
    start.insert(start.end(), {1, i % 50});
  start.insert(start.end(), {2, 77});
  std::set<List> seen;
  auto fails = [&](const List &list) {
    EXPECT_TRUE(seen.insert(list).second);
    Choices choices(list);
    return llvm::is_contained(groupsOf(choices), std::pair(2u, 77u));
  };
  EXPECT_THAT(shrink(start, replay, fails, 3000), ElementsAre(2, 77));
  EXPECT_LT(seen.size(), 40u);
}
