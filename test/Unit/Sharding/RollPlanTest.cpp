// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/RollPlan.h"
#include "shoal/Sharding/Mesh.h"
#include "gtest/gtest.h"
#include <algorithm>

using namespace shoal;

namespace {

using Form = RollPlan::Form;

/// Rows that the device that lacks most lacks of those that a roll brings it.
int64_t mostLacking(int64_t shift, int64_t size, int64_t shards) {
  int64_t most = 0;
  for (int64_t device = 0; device < shards; ++device) {
    RowRange own = shardRows(size, shards, device);
    int64_t lacking = 0;
    for (int64_t row = own.begin; row < own.end; ++row) {
      int64_t from = (row - shift + size) % size;
      lacking += from < own.begin || from >= own.end;
    }
    most = std::max(most, lacking);
  }
  return most;
}

TEST(PlanRoll, SendsWhatLacksByPermutes) {
  for (int64_t shards = 1; shards <= 8; ++shards)
    for (int64_t size = 1; size <= 6 * shards; ++size)
      for (int64_t shift = 0; shift < size; ++shift) {
        RollPlan plan = planRoll(shift, size, shards);
        int64_t most = mostLacking(shift, size, shards);
        if (plan.form == Form::Windows)
          EXPECT_LE(plan.rows,
                    2 * std::min(size, (size + shards - 1) / shards));
        else
          EXPECT_EQ(plan.rows, most)
              << shift << " of " << size << " over " << shards;
        EXPECT_GE(plan.rows, most);
      }
}

TEST(PlanRoll, TakesTheShorterWay) {
  // 61 rows in blocks of 8, the last one of 5.
  EXPECT_EQ(planRoll(2, 61, 8), (RollPlan{Form::LastRowsOn, 2}));
  EXPECT_EQ(planRoll(5, 61, 8), (RollPlan{Form::LastRowsOn, 5}));
  EXPECT_EQ(planRoll(58, 61, 8), (RollPlan{Form::FirstRowsBack, 3}));
  EXPECT_EQ(planRoll(64 - 8, 64, 8), (RollPlan{Form::Parts, 8}));
}

TEST(PlanRoll, FetchesWhatTheLastDeviceHasNot) {
  EXPECT_EQ(planRoll(6, 61, 8), (RollPlan{Form::Windows, 6 + 6}));
  // 9 rows in blocks of 2: three devices have none.
  EXPECT_EQ(planRoll(1, 9, 8), (RollPlan{Form::Windows, 1 + 1}));
}

} // namespace
