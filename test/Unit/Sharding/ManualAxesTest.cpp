// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/ManualAxes.h"
#include "shoal/Sharding/ReshardPlan.h"
#include "gtest/gtest.h"

using namespace shoal;

namespace {

const Mesh mesh{"mesh", {{"m", 1, 2, 2}, {"a", 1, 2, 2}, {"b", 1, 2, 2}}, {}};
const AxisList manual = {0};

/// All shardings of a matrix over "a" and "b", also with one of them partial.
std::vector<Sharding> allShardings() {
  std::vector<Sharding> all;
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 4; ++b) {
      Sharding sharding = Sharding::replicated(2);
      if (a < 2)
        sharding.dims[a].push_back(1);
      if (b < 2)
        sharding.dims[b].push_back(2);
      if (a == 3)
        sharding.partial.push_back(1);
      if (b == 3)
        sharding.partial.push_back(2);
      all.push_back(sharding);
    }
  return all;
}

TEST(ManualAxes, AddsADimensionAndTakesItAway) {
  Sharding sharding = Sharding::replicated(2);
  sharding.dims[1].push_back(1);
  Sharding all = withManualDim(sharding, manual);
  ASSERT_EQ(all.dims.size(), 3u);
  EXPECT_EQ(all.dims[0], manual);
  EXPECT_EQ(withoutManualDim(all, manual), sharding);
  EXPECT_EQ(withManualDim({6, 5}, manual, mesh),
            (llvm::SmallVector<int64_t>{2, 6, 5}));
  EXPECT_EQ(withManualDim(sharding, {}), sharding);
}

/// Every step keeps the devices along the manual axis apart, though that axis
/// is idle in both shardings.
TEST(ManualAxes, PlansNeverMixManualShards) {
  for (int64_t rows : {8, 7})
    for (const Sharding &source : allShardings())
      for (const Sharding &target : allShardings()) {
        if (target.isPartial())
          continue;
        for (const PlannedStep &step :
             planReshard(withManualDim({rows, 12}, manual, mesh),
                         withManualDim(source, manual),
                         withManualDim(target, manual), mesh)) {
          EXPECT_EQ(step.result.dims[0], manual);
          for (size_t d = 1; d < step.result.dims.size(); ++d)
            EXPECT_FALSE(llvm::is_contained(step.result.dims[d], manual[0]));
        }
      }
}

} // namespace
