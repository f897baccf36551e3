// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prices of collectives and kernels: laws over random clusters, and worked
// figures.

#include "shoal/Machine/StepTime.h"
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace shoal;
using testing::ElementsAre;

static Level makeLevel(LevelKind kind, int64_t size, double bandwidth,
                       double alpha = 1e-6) {
  Level level;
  level.kind = kind;
  level.size = size;
  level.bandwidth = bandwidth;
  level.alpha = level.message = alpha;
  return level;
}

static Cluster makeIslands() {
  Cluster cluster;
  cluster.name = "islands";
  cluster.levels = {makeLevel(LevelKind::Switch, 8, 4e11),
                    makeLevel(LevelKind::Rails, 16, 5e10)};
  cluster.chip.memoryBandwidth = 3e12;
  cluster.chip.flops = {{"bf16", 1e15}, {"f32", 5e13}};
  return cluster;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

TEST(DeviceGroupsTest, TheInnermostAxisLiesInAnIsland) {
  Cluster islands = makeIslands();
  EXPECT_THAT(countMembers(islands, {AxisSpan{8, 1}}), ElementsAre(8, 1));
  EXPECT_THAT(countMembers(islands, {AxisSpan{4, 8}}), ElementsAre(1, 4));
  EXPECT_THAT(countMembers(islands, {AxisSpan{4, 2}}), ElementsAre(4, 1));
  EXPECT_THAT(countMembers(islands, {AxisSpan{16, 2}}), ElementsAre(4, 4));
  EXPECT_THAT(countMembers(islands, {AxisSpan{4, 8}, AxisSpan{8, 1}}),
              ElementsAre(8, 4));
  EXPECT_THAT(countMembers(islands, {AxisSpan{2, 1}, AxisSpan{2, 64}}),
              ElementsAre(2, 2));
  EXPECT_THAT(countMembers(islands, {}), ElementsAre(1, 1));
}

TEST(DeviceGroupsTest, AxesCountAsDevicesDo) {
  Cluster islands = makeIslands();
  for (int64_t stride : {1, 2, 4, 8, 16})
    for (int64_t size : {1, 2, 4, 8}) {
      llvm::SmallVector<int64_t> group;
      for (int64_t i = 0; i < size; ++i)
        group.push_back(i * stride);
      auto counted = countListedMembers(islands, {group});
      ASSERT_TRUE(counted);
      EXPECT_EQ(countMembers(islands, {AxisSpan{size, stride}}), *counted)
          << size << " x " << stride;
    }
}

TEST(DeviceGroupsTest, GroupsThatDifferAreAnError) {
  auto counted =
      countListedMembers(makeIslands(), {llvm::SmallVector<int64_t>{0, 1},
                                         llvm::SmallVector<int64_t>{7, 8}});
  ASSERT_FALSE(counted);
  EXPECT_EQ(
      counted.error().message,
      "group 1 of the devices 7, 8 lies otherwise on islands than group 0 of "
      "0, 1");
}

//===----------------------------------------------------------------------===//
// Laws
//===----------------------------------------------------------------------===//

namespace {

/// A random cluster, and a group on it.
struct Case {
  Cluster cluster;
  GroupCounts counts;
  int64_t bytes;

  explicit Case(std::mt19937 &random) {
    auto pick = [&](int from, int to) {
      return std::uniform_int_distribution<int>(from, to)(random);
    };
    int levels = pick(1, 3);
    for (int level = 0; level < levels; ++level) {
      auto kind = static_cast<LevelKind>(pick(0, 3));
      Level made = makeLevel(kind, 64, std::pow(10.0, pick(90, 120) / 10.0),
                             std::pow(10.0, pick(-80, -50) / 10.0));
      made.message = made.alpha / pick(1, 10);
      made.wraps = pick(0, 1);
      made.allReduceGain = pick(0, 1) ? 1.3 : 1;
      if (pick(0, 1))
        for (CollectiveKind each : kCollectiveKinds)
          made.efficiency[each] = pick(1, 10) / 10.0;
      if (pick(0, 1))
        made.messageShare = {{1e3, 0.1 * pick(1, 5)}, {1e6, 0.9}};
      cluster.levels.push_back(made);
      counts.push_back(1 << pick(0, 5));
    }
    bytes = int64_t(1) << pick(0, 32);
  }

  int64_t members() const {
    return std::accumulate(counts.begin(), counts.end(), int64_t(1),
                           std::multiplies<>());
  }
  bool hasTorus() const {
    for (const Level &level : cluster.levels)
      if (level.kind == LevelKind::Torus)
        return true;
    return false;
  }
  Picoseconds price(CollectiveKind kind) const {
    return priceCollective(cluster, kind, counts, bytes).time;
  }
};

constexpr int kCases = 10000;

/// Each change makes nothing faster.
void expectSlower(const std::function<bool(Case &, std::mt19937 &)> &change) {
  std::mt19937 random(1);
  for (int number = 0; number < kCases; ++number) {
    Case before(random), after = before;
    if (!change(after, random))
      continue;
    for (CollectiveKind kind : kCollectiveKinds)
      ASSERT_LE(before.price(kind), after.price(kind) + 1)
          << "case " << number << ": " << nameOf(kind);
  }
}

size_t pickLevel(const Case &each, std::mt19937 &random) {
  return random() % each.cluster.levels.size();
}

} // namespace

TEST(StepTimeTest, PricesRiseWithBytes) {
  expectSlower([](Case &each, std::mt19937 &random) {
    each.bytes += 1 + random() % each.bytes;
    return true;
  });
}

TEST(StepTimeTest, PricesRiseWithLatency) {
  expectSlower([](Case &each, std::mt19937 &random) {
    Level &level = each.cluster.levels[pickLevel(each, random)];
    level.alpha *= 2;
    level.message *= 2;
    return true;
  });
}

TEST(StepTimeTest, PricesFallWithBandwidth) {
  expectSlower([](Case &each, std::mt19937 &random) {
    each.cluster.levels[pickLevel(each, random)].bandwidth /= 1.5;
    return true;
  });
}

/// Of one level: members of another one drive other links.
TEST(StepTimeTest, PricesRiseWithMembersOffTheTorus) {
  std::mt19937 random(2);
  for (int number = 0; number < kCases; ++number) {
    Case before(random), after = before;
    std::fill(before.counts.begin(), std::prev(before.counts.end()), 1);
    if (before.hasTorus() || before.members() == 1)
      continue;
    after.counts = before.counts;
    after.counts.back() *= 2;
    // Of the same whole.
    auto sent = [](const Case &each, double whole) {
      return static_cast<int64_t>(whole * (each.members() - 1) /
                                  each.members());
    };
    double whole = 1e3 * before.bytes;
    before.bytes = sent(before, whole);
    after.bytes = sent(after, whole);
    for (CollectiveKind kind :
         {CollectiveKind::AllGather, CollectiveKind::ReduceScatter,
          CollectiveKind::AllToAll})
      ASSERT_LE(before.price(kind), after.price(kind) * (1 + 1e-9) + 1)
          << "case " << number << ": " << nameOf(kind);
  }
}

TEST(StepTimeTest, AnAllReduceIsNeverDearerThanTwoCollectives) {
  std::mt19937 random(3);
  for (int number = 0; number < kCases; ++number) {
    Case each(random);
    Case half = each;
    each.bytes *= 2;
    ASSERT_LE(each.price(CollectiveKind::AllReduce),
              half.price(CollectiveKind::ReduceScatter) +
                  half.price(CollectiveKind::AllGather) + 2)
        << "case " << number;
  }
}

TEST(StepTimeTest, OneDeviceSendsNothing) {
  for (CollectiveKind kind : kCollectiveKinds)
    EXPECT_EQ(priceCollective(makeIslands(), kind, {1, 1}, 0).time, 0);
}

//===----------------------------------------------------------------------===//
// Figures
//===----------------------------------------------------------------------===//

TEST(StepTimeTest, GathersUseAllRails) {
  Cluster islands = makeIslands();
  for (Level &level : islands.levels)
    level.alpha = level.message = 0;
  // 8 GB in 16 devices of two islands: half of it comes by 8 rails of 50 GB/s,
  // 10 ms, and 7 eighths go around in an island at 400 GB/s, 17.5 ms.
  Price price =
      priceCollective(islands, CollectiveKind::AllGather, {8, 2}, 7500000000);
  EXPECT_EQ(price.time, 17500000000);
  EXPECT_EQ(price.level, 0);
  // Of an all_to_all half of each device's 8 GB go out of the island by its
  // own rail: 80 ms.
  price =
      priceCollective(islands, CollectiveKind::AllToAll, {8, 2}, 7500000000);
  EXPECT_EQ(price.time, 80000000000);
  EXPECT_EQ(price.level, 1);
}

TEST(StepTimeTest, TheOutermostLevelHasTheLinks) {
  Cluster islands = makeIslands();
  auto linkOf = [&](GroupCounts counts) {
    return priceCollective(islands, CollectiveKind::AllGather, counts, 4096)
        .link;
  };
  EXPECT_EQ(linkOf({1, 1}), -1);
  EXPECT_EQ(linkOf({8, 1}), 0);
  EXPECT_EQ(linkOf({8, 2}), 1);
  EXPECT_EQ(linkOf({1, 2}), 1);
}

TEST(StepTimeTest, SmallAllReducesGoByATree) {
  Cluster islands = makeIslands();
  // 2 log2(8) steps of 1 us, not 14.
  Price price = priceCollective(islands, CollectiveKind::AllReduce, {8, 1}, 14);
  EXPECT_NEAR(price.time, 6e6, 1e3);
  EXPECT_EQ(price.bound, Bound::Latency);
}

TEST(StepTimeTest, ATorusExchangesByItsCut) {
  Cluster pod;
  pod.levels = {makeLevel(LevelKind::Torus, 1024, 1e11, 0)};
  pod.levels[0].wraps = true;
  auto exchange = [&](int64_t chips) {
    int64_t whole = 8 << 20;
    return priceCollective(pod, CollectiveKind::AllToAll, {chips},
                           whole / chips * (chips - 1))
        .time;
  };
  // Chips a times as many are the square root of a times as slow.
  EXPECT_NEAR(exchange(1024) / double(exchange(16)), 8, 0.01);
}

TEST(StepTimeTest, MeasuredCurvesHold) {
  Cluster box;
  box.levels = {makeLevel(LevelKind::Bus, 2, 1e10)};
  box.levels[0].measured = {
      {CollectiveKind::AllReduce, 2, {{1e3, 1e-6}, {1e5, 1e-4}}}};
  auto price = [&](int64_t bytes) {
    return priceCollective(box, CollectiveKind::AllReduce, {2}, bytes).time;
  };
  EXPECT_EQ(price(10), 1000000);
  EXPECT_NEAR(price(10000), 1e7, 1);
  EXPECT_EQ(price(1000000), 1000000000);
}

TEST(StepTimeTest, TwoStepsSendFewerMessages) {
  Cluster islands = makeIslands();
  int64_t small = 127 * 1024, large = int64_t(127) << 24;
  auto pairwise = [&](int64_t bytes) {
    return priceCollective(islands, CollectiveKind::AllToAll, {8, 16}, bytes)
        .time;
  };
  auto inTwo = [&](int64_t bytes) {
    return priceAllToAll2D(islands, {8, 16}, 0, bytes).time;
  };
  EXPECT_LT(inTwo(small), pairwise(small) / 4);
  EXPECT_GT(inTwo(large), pairwise(large));
}

TEST(StepTimeTest, RowsGoToFewerUnitsThanExperts) {
  // Any of 4 units, one expert each: as a die thrown k times without repeats.
  EXPECT_DOUBLE_EQ(expectedUnits(4, 4, 2, 4), 2);
  EXPECT_DOUBLE_EQ(expectedUnits(256, 8, 1, 8), 1);
  EXPECT_DOUBLE_EQ(expectedUnits(8, 8, 8, 8), 8);
  // 2 of 4 experts in 2 units: both in one with a chance of 1/3.
  EXPECT_DOUBLE_EQ(expectedUnits(4, 2, 2, 2), 2 - 1.0 / 3);
  // Routing that is limited to 4 of 8 units stays there.
  EXPECT_LT(expectedUnits(256, 8, 8, 4), 4);
  EXPECT_GT(expectedUnits(256, 8, 8, 4), 3.5);
  EXPECT_GT(expectedUnits(256, 8, 8, 8), 5);
}

/// What an all_to_all sends k times it sends once a unit.
TEST(StepTimeTest, TwoStageDispatchSendsARowOnce) {
  Cluster islands = makeIslands();
  int64_t bytes = int64_t(127) << 24;
  auto inStages = [&](RowCopies copies) {
    return priceTwoStageDispatch(islands, {8, 16}, 0, bytes, copies).time;
  };
  // One expert, one unit: the 2-D all_to_all.
  EXPECT_EQ(inStages({1, 1}), priceAllToAll2D(islands, {8, 16}, 0, bytes).time);
  EXPECT_LT(inStages({8, 3.5}), inStages({8, 6}));
  EXPECT_LT(
      inStages({8, 3.5}),
      priceCollective(islands, CollectiveKind::AllToAll, {8, 16}, bytes).time);
}

TEST(StepTimeTest, AttentionHasAShareOfItsOwn) {
  Chip chip = makeIslands().chip;
  chip.attentionEfficiency = 0.5;
  Price price = priceAttention(chip, "bf16", 1e12, 1000);
  EXPECT_EQ(price.time, 4000000000);
  EXPECT_EQ(price.bound, Bound::Flops);
  EXPECT_EQ(priceAttention(chip, "bf16", 1, 3000000).bound, Bound::Memory);
}

TEST(StepTimeTest, ProductsAreBoundByWhatIsLonger) {
  Chip chip = makeIslands().chip;
  chip.products = {0.8, {48, 48, 256}, {1, 1, 128}};
  Price large = priceProduct(chip, "bf16", {1, 8192, 8192, 8192}, 402653184);
  EXPECT_EQ(large.bound, Bound::Flops);
  double half = 8192.0 / (8192 + 48), inner = 8192.0 / (8192 + 256);
  EXPECT_NEAR(large.time,
              2 * std::pow(8192.0, 3) / 8e14 / (half * half * inner) * 1e12,
              1e6);
  EXPECT_EQ(priceProduct(chip, "bf16", {1, 1, 8192, 8192}, 134250496).bound,
            Bound::Memory);
  // A type that the chip has no rate of its own for.
  EXPECT_GT(priceProduct(chip, "f64", {1, 512, 512, 512}, 0).time,
            priceProduct(chip, "bf16", {1, 512, 512, 512}, 0).time);
  // Half a tile of k takes as long as a whole one.
  EXPECT_GT(priceProduct(chip, "f32", {1, 512, 512, 129}, 0).time,
            1.5 * priceProduct(chip, "f32", {1, 512, 512, 128}, 0).time);
}

TEST(StepTimeTest, ProductsOfColumnsRunOnScalarUnits) {
  Chip chip = makeIslands().chip;
  chip.products = {0.8, {48, 48, 256}, {1, 1, 1}};
  chip.elementwiseFlops = 33.5e12;
  // Two rows of each token by their weights.
  ProductShape weighed = {4096, 4096, 1, 2};
  EXPECT_EQ(priceProduct(chip, "f32", weighed, 0).time,
            priceKernel(chip, 0, 4096.0 * 4096 * 2).time);
  ProductShape square = {1, 4096, 4096, 4096};
  EXPECT_LT(priceProduct(chip, "bf16", square, 0).time,
            priceKernel(chip, 0, std::pow(4096.0, 3)).time);
}

/// 100 times as fast in a cache of 1e4 bytes, and behind 1e6 as memory_bw says.
TEST(StepTimeTest, KernelsOfFewBytesAreInCaches) {
  Chip chip = makeIslands().chip;
  chip.memoryBandwidth = 1e9;
  chip.memoryShare = {{1e4, 100}, {1e6, 1}};
  EXPECT_EQ(priceKernel(chip, 1000).time, 10000);
  EXPECT_EQ(priceKernel(chip, 10000).time, 100000);
  EXPECT_EQ(priceKernel(chip, 100000).time, 10000000);
  EXPECT_EQ(priceKernel(chip, 2000000).time, 2000000000);
}

TEST(StepTimeTest, ProductsOfGroupsReachTheirShare) {
  Chip chip = makeIslands().chip;
  chip.groupEfficiency = 0.5;
  ProductShape single{8, 256, 256, 256}, groups = single;
  groups.hasGroups = true;
  EXPECT_NEAR(priceProduct(chip, "f32", groups, 0).time,
              2 * priceProduct(chip, "f32", single, 0).time, 2);
}

TEST(StepTimeTest, KernelsStart) {
  Chip chip = makeIslands().chip;
  chip.kernel = 2e-6;
  EXPECT_EQ(priceKernel(chip, 0).time, 2000000);
  EXPECT_EQ(priceKernel(chip, 0).bound, Bound::Launch);
  chip.indexedRow = 1e-8;
  EXPECT_EQ(priceKernel(chip, 0, 0, 1000).time, 12000000);
  chip.elementwiseFlops = 1e9;
  EXPECT_EQ(priceKernel(chip, 3000, 1e6).time, 1002000000);
}
