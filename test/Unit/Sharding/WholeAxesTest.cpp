// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Searches of problems whose axes are cut, and prices that searches share.

#include "Sharding/Assignment/WholeAxes.h"
#include "MoeProgram.h"
#include "shoal/Sharding/ReshardPrices.h"
#include <gmock/gmock.h>

using namespace shoal;
using namespace shoal::assignment;
using namespace shoal::testing;
using ::testing::ElementsAre;

namespace {

/// "x" of 16 as 2 x 8, and "y" of 4.
Mesh cutMesh() {
  Mesh mesh = makeMesh({{"x", 2}, {"x", 8}, {"y", 4}});
  mesh.axes[0].fullSize = mesh.axes[1].fullSize = 16;
  mesh.axes[1].pre = 2;
  return mesh;
}

TEST(WholeAxes, parts_of_an_axis_are_one) {
  ProgramBuilder b(cutMesh());
  unsigned x = b.argument({64, 32}, closed({{0, 1}, {2}}));
  b.result(b.elementwise({x}, ProgramBuilder::Nonlinear));
  std::optional<WholeAxes> whole = mergeSubAxes(b.problem);
  ASSERT_TRUE(whole);
  ASSERT_EQ(whole->problem.mesh.axes.size(), 2u);
  EXPECT_EQ(whole->problem.mesh.axes[0].size, 16);
  EXPECT_EQ(whole->problem.mesh.numDevices(), 64);
  EXPECT_EQ(whole->problem.ops[0].constraint->dims[0].axes, (AxisList{0}));
  EXPECT_EQ(whole->problem.ops[0].constraint->dims[1].axes, (AxisList{1}));
  FactorSharding split{{{1}, {0}}, {{0, 3}}};
  FactorSharding expanded = whole->expand(split);
  EXPECT_THAT(expanded.axes, ElementsAre(AxisList{2}, AxisList{0, 1}));
  EXPECT_THAT(expanded.passes, ElementsAre(FactorSharding::Pass{0, 3},
                                           FactorSharding::Pass{1, 3}));
}

TEST(WholeAxes, parts_that_are_named_apart_stay_apart) {
  auto isMerged = [](ShardingConstraint constraint) {
    ProgramBuilder b(cutMesh());
    b.result(b.argument({64, 32}, std::move(constraint)));
    return mergeSubAxes(b.problem).has_value();
  };
  EXPECT_FALSE(isMerged(closed({{0}, {}}))) << "one without the other";
  EXPECT_FALSE(isMerged(closed({{0}, {1}}))) << "in two dimensions";
  EXPECT_FALSE(isMerged(closed({{1, 0}, {}}))) << "the minor one first";
  EXPECT_FALSE(isMerged(closed({{0, 2, 1}, {}}))) << "another between them";
  EXPECT_TRUE(isMerged(closed({{2, 0, 1}, {}})));
  ShardingConstraint replicated = closed({{}, {}});
  replicated.replicated = {1};
  EXPECT_FALSE(isMerged(replicated));
  replicated.replicated = {0, 1};
  EXPECT_TRUE(isMerged(replicated));

  ProgramBuilder manual(cutMesh());
  manual.result(manual.argument({64, 32}));
  manual.problem.values[0].manualAxes = {0};
  EXPECT_FALSE(mergeSubAxes(manual.problem));
  ProgramBuilder whole(makeMesh({{"x", 2}, {"y", 4}}));
  whole.result(whole.argument({64, 32}));
  EXPECT_FALSE(mergeSubAxes(whole.problem)) << "no axis is cut";
}

/// The layer's problem with its last axis read as two.
AssignmentProblem withCutAxis(AssignmentProblem problem) {
  MeshAxis &last = problem.mesh.axes.back();
  MeshAxis minor = last;
  last.size = 2;
  minor.pre = 2;
  minor.size /= 2;
  AxisId cut = problem.mesh.axes.size() - 1;
  problem.mesh.axes.push_back(minor);
  for (AssignmentProblem::Op &op : problem.ops)
    if (op.constraint)
      for (DimConstraint &dim : op.constraint->dims)
        if (auto *found = llvm::find(dim.axes, cut); found != dim.axes.end())
          dim.axes.insert(found + 1, cut + 1);
  return problem;
}

/// Parts could lie apart, so the plan is at most as dear.
TEST(WholeAxes, a_plan_costs_no_more_where_an_axis_is_cut) {
  for (MoeAnnotations annotations :
       {MoeAnnotations::Full, MoeAnnotations::Min, MoeAnnotations::None}) {
    MoeProgram moe(MoeLayout::threeAxes(2, 2, 4), annotations);
    for (SearchEffort effort : {SearchEffort::Quick, SearchEffort::Full}) {
      AssignmentOptions options;
      options.effort = effort;
      double whole = assignShardings(moe.problem, options).cost.total();
      double cut =
          assignShardings(withCutAxis(moe.problem), options).cost.total();
      EXPECT_LE(cut, whole * (1 + 1e-9));
    }
  }
}

/// Of another program, too, whose layouts have other numbers.
TEST(ReshardPrices, searches_that_share_them_answer_as_alone) {
  ReshardPrices prices;
  for (bool inPlans : {true, false})
    for (MoeAnnotations annotations :
         {MoeAnnotations::None, MoeAnnotations::Full, MoeAnnotations::None}) {
      MoeProgram moe(MoeLayout::threeAxes(2, 2, 2), annotations);
      AssignmentOptions alone, sharing;
      alone.pricePlans = sharing.pricePlans = inPlans;
      sharing.reshardPrices = &prices;
      Assignment expected = assignShardings(moe.problem, alone);
      Assignment found = assignShardings(moe.problem, sharing);
      EXPECT_EQ(found.ops, expected.ops);
      EXPECT_EQ(found.cost.total(), expected.cost.total());
    }
}

} // namespace
