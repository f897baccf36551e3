// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/FactorRule.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

using namespace shoal;

namespace {

Mesh mesh2x4() { return {"mesh", {{"x", 1, 2, 2}, {"y", 1, 4, 4}}, {}}; }

/// "IJ,JK->IK" with sizes 8, 4, 16.
FactorRule matmul() {
  return FactorRuleBuilder({2, 2}, {2})
      .addFactor(8, {0, -1}, {0})
      .addFactor(4, {1, 0}, {-1}, FactorKind::Reduction, ReduceKind::Sum)
      .addFactor(16, {-1, 1}, {1})
      .linearIn({0})
      .linearIn({1})
      .build();
}

FactorSharding choice(std::initializer_list<AxisList> axes) {
  FactorSharding c;
  c.axes.assign(axes.begin(), axes.end());
  return c;
}

TEST(ApplyChoice, FreeFactorSplitsOperandAndResult) {
  auto made = applyChoice(matmul(), choice({{0, 1}, {}, {}}), mesh2x4());
  ASSERT_TRUE(made);
  EXPECT_EQ(made->operands[0].dims[0], (AxisList{0, 1}));
  EXPECT_TRUE(made->operands[1].isReplicated());
  EXPECT_EQ(made->results[0].dims[0], (AxisList{0, 1}));
  EXPECT_FALSE(made->results[0].isPartial());
}

TEST(ApplyChoice, SplitSumIsPartial) {
  auto made = applyChoice(matmul(), choice({{0}, {1}, {}}), mesh2x4());
  ASSERT_TRUE(made);
  EXPECT_EQ(made->operands[0].dims[1], AxisList{1});
  EXPECT_EQ(made->operands[1].dims[0], AxisList{1});
  EXPECT_EQ(made->results[0].partial, AxisList{1});
}

TEST(ApplyChoice, RefusesWhatTheRuleForbids) {
  EXPECT_FALSE(applyChoice(matmul(), choice({{0}, {0}, {}}), mesh2x4()))
      << "an axis used twice";
  EXPECT_TRUE(applyChoice(matmul(), choice({{}, {0, 1}, {}}), mesh2x4()))
      << "8 shards of 4 rows, the last ones empty";
  FactorRule shared = matmul();
  shared.operands[0][1].push_back(2);
  EXPECT_FALSE(applyChoice(shared, choice({{}, {1, 0}, {}}), mesh2x4()))
      << "4 shards of 4 rows, then the axes of a factor behind";
  FactorRule whole = matmul();
  whole.factors[2].kind = FactorKind::Replicated;
  EXPECT_FALSE(applyChoice(whole, choice({{}, {}, {0}}), mesh2x4()));
  FactorRule even = matmul();
  even.factors[0].size = 7;
  EXPECT_TRUE(applyChoice(even, choice({{0}, {}, {}}), mesh2x4()));
  even.factors[0].needsEvenSplit = true;
  EXPECT_FALSE(applyChoice(even, choice({{0}, {}, {}}), mesh2x4()));
}

TEST(ExchangedBytes, CountsHalosAndGatheredSlabs) {
  // A window of three rows over 16, and a scan of 16 x 5, f32.
  FactorRule window = FactorRuleBuilder({2}, {2})
                          .addFactor(16, {0}, {0})
                          .addFactor(5, {1}, {1})
                          .window(0, 0, {1, -1, 1, 1})
                          .build();
  llvm::SmallVector<int64_t> shape = {16, 5};
  TensorSize size{shape, 4};
  EXPECT_EQ(exchangedBytes(window, choice({{1}, {}}), size, size, mesh2x4()),
            2 * 5 * 4);
  EXPECT_EQ(exchangedBytes(window, choice({{1}, {0}}), size, size, mesh2x4()),
            2 * 3 * 4);
  EXPECT_EQ(exchangedBytes(window, choice({{}, {0}}), size, size, mesh2x4()),
            0);
  FactorRule scan = FactorRuleBuilder({2}, {2})
                        .addFactor(16, {0}, {0})
                        .addFactor(5, {1}, {1})
                        .gather(0, 0)
                        .build();
  EXPECT_EQ(exchangedBytes(scan, choice({{0}, {}}), size, size, mesh2x4()),
            5 * 4);
  // Five columns of totals in parts of two, there and back.
  EXPECT_DOUBLE_EQ(
      exchangedBytes(scan, choice({{1}, {}}), size, size, mesh2x4()),
      2 * 8 * 3 / 4.0 * 4);
  EXPECT_DOUBLE_EQ(
      exchangedBytes(scan, choice({{0, 1}, {}}), size, size, mesh2x4()),
      2 * 8 * 7 / 8.0 * 4);
}

TEST(ApplyChoice, LinearOperandCarriesPartialSums) {
  FactorSharding c = choice({{0}, {}, {}});
  c.passes.push_back({/*axis=*/1, /*set=*/0});
  auto made = applyChoice(matmul(), c, mesh2x4());
  ASSERT_TRUE(made);
  EXPECT_EQ(made->operands[0].partial, AxisList{1});
  EXPECT_FALSE(made->operands[1].isPartial());
  EXPECT_EQ(made->results[0].partial, AxisList{1});
}

/// [2, 4] -> [8]: the minor factor may be split only behind the whole major.
TEST(ApplyChoice, MinorFactorNeedsMajorSplitWhole) {
  FactorRule merge;
  merge.factors = {{2, FactorKind::Parallel, {}, true},
                   {4, FactorKind::Parallel, {}, true}};
  merge.operands.push_back({{0}, {1}});
  merge.results.push_back({{0, 1}});
  auto made = applyChoice(merge, choice({{0}, {1}}), mesh2x4());
  ASSERT_TRUE(made);
  EXPECT_EQ(made->results[0].dims[0], (AxisList{0, 1}));
  EXPECT_FALSE(applyChoice(merge, choice({{}, {1}}), mesh2x4()));
}

TEST(FindChoice, InvertsApplyChoice) {
  Mesh mesh = mesh2x4();
  FactorRule rule = matmul();
  int found = 0;
  // Every label of both axes: none, a factor, a pass.
  for (int labelX = 0; labelX < 6; ++labelX)
    for (int labelY = 0; labelY < 6; ++labelY) {
      FactorSharding c = choice({{}, {}, {}});
      for (auto [axis, label] : {std::pair{0u, labelX}, {1u, labelY}}) {
        if (label >= 1 && label <= 3)
          c.axes[label - 1].push_back(axis);
        if (label >= 4)
          c.passes.push_back({axis, static_cast<unsigned>(label - 4)});
      }
      auto made = applyChoice(rule, c, mesh);
      if (!made)
        continue;
      auto again = findChoice(rule, *made, mesh);
      ASSERT_TRUE(again);
      EXPECT_EQ(*again, c);
      ++found;
    }
  EXPECT_GT(found, 30);
}

} // namespace
