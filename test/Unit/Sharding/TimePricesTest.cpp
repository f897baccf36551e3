// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Seconds of reshards, whose plans those that are alike share.

#include "Sharding/Assignment/TimePrices.h"
#include "Census.h"
#include "llvm/ADT/Sequence.h"
#include <gmock/gmock.h>

using namespace shoal;
using namespace shoal::assignment;
using namespace shoal::testing;

/// Two islands of 8.
static Cluster makeIslands() {
  Cluster cluster;
  Level inner, outer;
  inner.size = 8;
  inner.bandwidth = 4e11;
  outer.size = 2;
  outer.kind = LevelKind::Rails;
  outer.bandwidth = 5e10;
  inner.alpha = outer.alpha = inner.message = outer.message = 1e-6;
  cluster.levels = {inner, outer};
  return cluster;
}

/// Reshards over a mesh that numbers its devices itself share no plans. 6 and 4
/// rows are less than the devices divide.
TEST(TimePrices, reshards_that_are_alike_take_what_their_own_plans_do) {
  Cluster islands = makeIslands();
  TimePrices prices(islands);
  Mesh mesh = makeMesh({{"x", 2}, {"y", 4}, {"z", 2}}), numbered = mesh;
  llvm::append_range(numbered.deviceIds, llvm::seq<int64_t>(16));
  llvm::StringMap<SentSteps> known, none;
  const std::vector<llvm::SmallVector<int64_t>> shapes = {
      {16, 48, 32}, {32, 16, 1024}, {64, 80, 16}, {64, 6, 16}, {4, 32, 80}};
  auto whole = allShardings(mesh, 3), partial = allPartialShardings(mesh, 3);
  auto pairs = drawPairs(whole, {}, 1000);
  for (const auto *targets : {&whole, &partial})
    llvm::append_range(pairs, drawPairs(partial, *targets, 1500));
  for (const auto &shape : shapes)
    for (const auto &[source, target] : pairs) {
      Resharded value{shape, 2, source, target, &mesh};
      Resharded own{shape, 2, source, target, &numbered};
      EXPECT_DOUBLE_EQ(prices.reshard(value, known), prices.reshard(own, none))
          << describe(shape, mesh);
    }
  EXPECT_TRUE(none.empty());
  EXPECT_LT(known.size(), shapes.size() * pairs.size() * 2 / 3);
}
