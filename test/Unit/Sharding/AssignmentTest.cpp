// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/Assignment.h"
#include "CheckedAssignment.h"
#include "MoeProgram.h"
#include "shoal/Sharding/ReshardCost.h"
#include <gtest/gtest.h>

using namespace shoal;
using namespace shoal::testing;

namespace {

std::string madeAs(const AssignmentProblem &problem,
                   const Assignment &assignment, unsigned value) {
  return toString(assignment.values[value][0].sharding, problem.mesh);
}

Mesh mesh2x4() { return makeMesh({{"x", 2}, {"y", 4}}); }

//===----------------------------------------------------------------------===//
// Small programs
//===----------------------------------------------------------------------===//

TEST(Assignment, NothingToMoveCostsNothing) {
  ProgramBuilder b(mesh2x4());
  unsigned x = b.argument({8, 16}, closed({{0}, {1}}));
  unsigned y = b.elementwise({x}, ProgramBuilder::Nonlinear);
  b.result(y);
  Assignment a = assignChecked(b.problem);
  EXPECT_EQ(a.cost.bytes(), 0);
  EXPECT_EQ(madeAs(b.problem, a, y), R"(<@mesh, [{"x"}, {"y"}]>)");
}

TEST(Assignment, AnnotationsAreHard) {
  ProgramBuilder b(mesh2x4());
  unsigned x = b.argument({8, 16}, closed({{1}, {}}));
  unsigned y = b.constrain(x, closed({{}, {1}}));
  b.result(y, closed({{1}, {}}));
  Assignment a = assignChecked(b.problem);
  EXPECT_EQ(a.cost.reshards, 2 * 3.0 / 4 * 8 * 16 * 4 / 4)
      << "to the annotation and back, although no one needs it";
}

TEST(Assignment, FreeArgumentsTakeWhatTheirUsesNeed) {
  ProgramBuilder b(mesh2x4());
  unsigned a = b.argument({8, 16});
  unsigned w = b.argument({16, 32});
  unsigned c = b.einsum("IK,KJ->IJ", {a, w});
  b.result(b.constrain(c, closed({{0}, {1}})));
  Assignment made = assignChecked(b.problem);
  EXPECT_EQ(made.cost.bytes(), 0);
  EXPECT_EQ(madeAs(b.problem, made, a), R"(<@mesh, [{"x"}, {}]>)");
  EXPECT_EQ(madeAs(b.problem, made, w), R"(<@mesh, [{}, {"y"}]>)");
  EXPECT_EQ(made.flopsRatio, 1);
}

TEST(Assignment, OpenDimensionsKeepTheirPrefix) {
  ProgramBuilder b(mesh2x4());
  unsigned x = b.argument({8, 16}, closed({{1, 0}, {}}));
  ShardingConstraint open = closed({{1}, {}});
  open.dims[0].open = true;
  unsigned y = b.constrain(x, open);
  b.result(y);
  Assignment a = assignChecked(b.problem);
  EXPECT_EQ(a.cost.bytes(), 0);
  EXPECT_EQ(madeAs(b.problem, a, y), R"(<@mesh, [{"y", "x"}, {}]>)");
}

TEST(Assignment, ReplicatedAxesStayAway) {
  ProgramBuilder b(mesh2x4());
  unsigned x = b.argument({8, 16}, closed({{1, 0}, {}}));
  ShardingConstraint open = closed({{}, {}});
  open.dims[0].open = true;
  open.replicated = {0};
  unsigned y = b.constrain(x, open);
  b.result(y);
  Assignment a = assignChecked(b.problem);
  EXPECT_EQ(madeAs(b.problem, a, y), R"(<@mesh, [{"y"}, {}]>)");
}

TEST(Assignment, SumsAreReducedOnceBehindLinearOps) {
  // Two products, each partial over y, are added before one reduce_scatter.
  ProgramBuilder b(makeMesh({{"y", 4}}));
  unsigned a = b.argument({8, 16}, closed({{}, {0}}));
  unsigned w = b.argument({16, 8}, closed({{0}, {}}));
  unsigned first = b.einsum("IK,KJ->IJ", {a, w});
  unsigned second = b.einsum("IK,KJ->IJ", {a, w});
  unsigned sum = b.elementwise({first, second}, ProgramBuilder::Additive);
  b.result(sum, closed({{0}, {}}));
  AssignmentOptions options;
  options.flopsPerByte = 1e9;
  Assignment made = assignChecked(b.problem, options);
  EXPECT_EQ(madeAs(b.problem, made, sum),
            R"(<@mesh, [{}, {}], partial = {"y"}>)");
  EXPECT_EQ(made.cost.bytes(), 3.0 / 4 * 8 * 8 * 4);
}

TEST(Assignment, NonlinearOpsSeeCompleteSums) {
  ProgramBuilder b(mesh2x4());
  unsigned a = b.argument({8, 16}, closed({{}, {1}}));
  unsigned w = b.argument({16, 8}, closed({{1}, {}}));
  unsigned c = b.einsum("IK,KJ->IJ", {a, w});
  unsigned y = b.elementwise({c}, ProgramBuilder::Nonlinear);
  b.result(y, closed({{}, {}}));
  Assignment made = assignChecked(b.problem);
  EXPECT_TRUE(made.values[c].size() > 1);
  EXPECT_FALSE(made.values[y][0].sharding.isPartial());
}

TEST(Assignment, ResultsAreNeverPartial) {
  ProgramBuilder b(mesh2x4());
  unsigned x = b.argument({8, 16}, closed({{1}, {0}}));
  unsigned s = b.reduce(b.reduce(x, 0, ReduceKind::Sum), 0, ReduceKind::Sum);
  b.result(s);
  Assignment made = assignChecked(b.problem);
  EXPECT_EQ(made.cost.bytes(), 2 * 7.0 / 8 * 4) << "one all_reduce of a scalar";
}

TEST(Assignment, OtherReductionsPayAtTheOp) {
  ProgramBuilder b(makeMesh({{"y", 4}}));
  unsigned x = b.argument({1024, 2}, closed({{0}, {}}));
  unsigned top = b.reduce(x, 0, ReduceKind::Max);
  b.result(top, closed({{}}));
  Assignment made = assignChecked(b.problem);
  EXPECT_EQ(made.cost.reductions, 2 * 3.0 / 4 * 2 * 4);
  EXPECT_EQ(made.cost.reshards, 0) << "cheaper than gathering the operand";
}

TEST(Assignment, AReshardIsSharedByItsUsers) {
  ProgramBuilder b(mesh2x4());
  unsigned x = b.argument({8, 16}, closed({{1}, {}}));
  for (int i = 0; i < 3; ++i)
    b.result(b.elementwise({x}, ProgramBuilder::Nonlinear), closed({{}, {1}}));
  Assignment made = assignChecked(b.problem);
  EXPECT_EQ(made.cost.bytes(), 3.0 / 4 * 8 * 16 * 4 / 4);
  EXPECT_EQ(made.values[x].size(), 2u);
}

TEST(Assignment, GathersFromTheNearestVersion) {
  // Needed split over x and whole: sum once into the split, then gather that.
  ProgramBuilder b(makeMesh({{"x", 4}}));
  unsigned a = b.argument({16, 64}, closed({{}, {0}}));
  unsigned s = b.reduce(a, 1, ReduceKind::Sum);
  b.result(s, closed({{0}}));
  b.result(s, closed({{}}));
  Assignment made = assignChecked(b.problem);
  ASSERT_EQ(made.values[s].size(), 3u);
  EXPECT_EQ(made.cost.bytes(), 2 * 3.0 / 4 * 16 * 4)
      << "reduce_scatter + all_gather, not also an all_reduce";
}

TEST(Assignment, OrderOfAxesFollowsTheAnnotations) {
  ProgramBuilder b(mesh2x4());
  unsigned x = b.argument({16, 16}, closed({{1, 0}, {}}));
  unsigned y = b.elementwise({x}, ProgramBuilder::Nonlinear);
  b.result(y, closed({{1, 0}, {}}));
  Assignment made = assignChecked(b.problem);
  EXPECT_EQ(made.cost.bytes(), 0) << "no permute to mesh order and back";
}

TEST(Assignment, OtherDeviceOrderCostsTheBlock) {
  ProgramBuilder b(makeMesh({{"x", 4}}));
  unsigned x = b.argument({8, 8}, closed({{0}, {}}));
  unsigned y = b.constrain(x, closed({{0}, {}}));
  b.problem.ops[b.lastOp()].deviceOrder = 1;
  b.problem.deviceOrders = {{}, {1, 0, 3, 2}};
  unsigned z = b.elementwise({y}, ProgramBuilder::Nonlinear);
  b.result(z, closed({{0}, {}}));
  Assignment made = assignChecked(b.problem);
  EXPECT_EQ(made.cost.bytes(), 2 * 64.0) << "there and back";
  EXPECT_EQ(made.values[x][1].deviceOrder, 1u);
  EXPECT_EQ(made.values[y][0].deviceOrder, 1u);
}

TEST(Assignment, AnnotationMayHaveMoreShardsThanRows) {
  ProgramBuilder b(makeMesh({{"x", 8}}));
  unsigned x = b.argument({3, 8}, closed({{0}, {}}));
  b.result(b.elementwise({x}, ProgramBuilder::Nonlinear), closed({{0}, {}}));
  assignChecked(b.problem);
}

TEST(Assignment, UnevenSplitsCountTheirPadding) {
  // 9 rows on 8 devices are 2 rows each; 16 columns divide.
  ProgramBuilder b(makeMesh({{"x", 8}}));
  unsigned a = b.argument({9, 512});
  unsigned w = b.argument({512, 16});
  unsigned c = b.einsum("IK,KJ->IJ", {a, w});
  b.result(c);
  AssignmentOptions options;
  options.flopsPerByte = 1;
  Assignment made = assignChecked(b.problem, options);
  EXPECT_EQ(madeAs(b.problem, made, c), R"(<@mesh, [{}, {"x"}]>)");
  EXPECT_EQ(made.flopsRatio, 1);
}

TEST(Assignment, EmptyAndScalarProgramsAreFine) {
  ProgramBuilder empty(mesh2x4());
  assignChecked(empty.problem);
  ProgramBuilder b(mesh2x4());
  unsigned s = b.argument({});
  b.result(b.elementwise({s}, ProgramBuilder::Nonlinear));
  EXPECT_EQ(assignChecked(b.problem).cost.bytes(), 0);
}

// The hint splits the rows of all products; the result is split by columns. No
// chain is as long as the products, so only all of them at once change sides.
TEST(Assignment, ADimensionMovesAsOne) {
  ProgramBuilder b(makeMesh({{"x", 4}}));
  unsigned scale = b.argument({64}, closed({{0}}));
  unsigned y = b.einsum("C,CD->CD", {scale, b.argument({64, 64})});
  for (int i = 0; i < 100; ++i)
    y = b.einsum("CD,CD->CD", {y, b.argument({64, 64})});
  b.result(y, closed({{}, {0}}));
  AssignmentOptions options;
  options.effort = SearchEffort::Descent;
  EXPECT_EQ(assignChecked(b.problem, options).cost.bytes(), 64 * 64 / 4 * 3);
  options.effort = SearchEffort::Quick;
  EXPECT_EQ(assignChecked(b.problem, options).cost.bytes(), 64 * 4 / 4 * 3);
}

//===----------------------------------------------------------------------===//
// Data parallelism
//===----------------------------------------------------------------------===//

/// A perceptron of two layers, its gradient and the update of its weights by
/// AdamW. The batch is split over "data", the state is whole everywhere.
class TrainingStep {
public:
  TrainingStep(int64_t devices, int64_t rows, int64_t width, int64_t hidden)
      : b(makeMesh({{"data", devices}})) {
    unsigned x = b.argument({rows, width}, closed({{0}, {}}));
    unsigned w = whole({width, hidden}), v = whole({hidden, width});
    unsigned h = b.elementwise({b.einsum("BM,MH->BH", {x, w})}, Nonlinear);
    unsigned y = b.einsum("BH,HM->BM", {h, v});
    unsigned dy = b.elementwise({y, x}, Additive);
    unsigned dv = b.einsum("BH,BM->HM", {h, dy});
    unsigned dh = b.einsum("BM,HM->BH", {dy, v});
    dh = b.elementwise({dh, h}, Nonlinear);
    unsigned dw = b.einsum("BM,BH->MH", {x, dh});
    update(w, dw);
    update(v, dv);
    gradientBytes = 2 * width * hidden * 4;
  }

  /// A ring all_reduce of the gradients.
  double need() const {
    double n = b.problem.mesh.numDevices();
    return 2 * (n - 1) / n * gradientBytes;
  }

  ProgramBuilder b;
  double gradientBytes;

private:
  static constexpr auto Nonlinear = ProgramBuilder::Nonlinear;
  static constexpr auto Additive = ProgramBuilder::Additive;
  static constexpr auto Multiplicative = ProgramBuilder::Multiplicative;

  unsigned whole(ProgramBuilder::Shape shape) {
    return b.argument(std::move(shape), closed({{}, {}}));
  }

  void update(unsigned parameter, unsigned gradient) {
    ProgramBuilder::Shape shape = b.shapeOf(parameter);
    unsigned mean = whole(shape), variance = whole(shape);
    auto scaled = [&](unsigned value) {
      return b.elementwise({value, b.constant(shape)}, Multiplicative);
    };
    mean = b.elementwise({scaled(mean), scaled(gradient)}, Additive);
    unsigned square = b.elementwise({gradient, gradient}, Multiplicative);
    variance = b.elementwise({scaled(variance), scaled(square)}, Additive);
    unsigned root = b.elementwise({scaled(variance)}, Nonlinear);
    unsigned step = b.elementwise({scaled(mean), root}, Nonlinear);
    step = b.elementwise({step, scaled(parameter)}, Additive);
    unsigned updated = b.elementwise({parameter, scaled(step)}, Additive);
    for (unsigned value : {updated, mean, variance})
      b.result(value, closed({{}, {}}));
  }
};

struct DataParallelCase {
  int64_t devices, rows, width, hidden;
  double flopsPerByte;
};

class DataParallel : public ::testing::TestWithParam<DataParallelCase> {};

TEST_P(DataParallel, SplitsWorkAndReducesEachGradientOnce) {
  const DataParallelCase &c = GetParam();
  TrainingStep step(c.devices, c.rows, c.width, c.hidden);
  AssignmentOptions options;
  options.flopsPerByte = c.flopsPerByte;
  Assignment made = assignChecked(step.b.problem, options);
  EXPECT_LE(made.flopsRatio, 1.1);
  EXPECT_EQ(made.cost.bytes(), step.need());
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, DataParallel,
    ::testing::Values(DataParallelCase{4, 128, 16, 64, 10},
                      DataParallelCase{4, 128, 16, 64, 1000},
                      DataParallelCase{4, 1024, 64, 256, 10},
                      DataParallelCase{4, 1024, 64, 256, 1000},
                      DataParallelCase{4, 1024, 128, 512, 10},
                      DataParallelCase{4, 1024, 128, 512, 300},
                      DataParallelCase{4, 1024, 128, 512, 1000},
                      DataParallelCase{8, 1024, 512, 512, 10},
                      DataParallelCase{8, 1024, 512, 512, 1000},
                      DataParallelCase{8, 1024, 512, 512, 1900}),
    [](const auto &info) {
      const DataParallelCase &c = info.param;
      return std::to_string(c.devices) + "_" + std::to_string(c.rows) + "_" +
             std::to_string(c.width) + "_" + std::to_string(c.hidden) + "_R" +
             std::to_string(int(c.flopsPerByte));
    });

TEST(Assignment, MarginSaysWhatWorkRepeatedCosts) {
  // 64 rows: to gather them sends 1/32 of what summing the gradients does.
  TrainingStep step(4, 64, 512, 512);
  AssignmentOptions options;
  options.repeatMargin = 1;
  Assignment made = assignChecked(step.b.problem, options);
  EXPECT_EQ(made.flopsRatio, 4);
  EXPECT_LE(made.cost.bytes(), step.need() / 32);
  EXPECT_EQ(made.cost.repeats, 0);
  options.repeatMargin = 100;
  made = assignChecked(step.b.problem, options);
  EXPECT_EQ(made.flopsRatio, 1);
  EXPECT_LE(made.cost.bytes(), step.need());
}

TEST(Assignment, AnnotationsThatSplitNothingMakeNoWorkDearer) {
  ProgramBuilder b(mesh2x4());
  unsigned x = b.argument({8, 16}, closed({{}, {}}));
  unsigned w = b.argument({16, 16}, closed({{}, {}}));
  b.result(b.einsum("IK,KJ->IJ", {x, w}), closed({{}, {}}));
  Assignment made = assignChecked(b.problem);
  EXPECT_EQ(made.flopsRatio, 8);
  EXPECT_EQ(made.cost.repeats, 0);
  EXPECT_EQ(made.flops[2], 8 * 2.0 * 8 * 16 * 16);
}

TEST(Assignment, UnsharedFactorsLeaveEachDeviceAsMuchToDo) {
  ProgramBuilder b(mesh2x4());
  unsigned x = b.argument({8, 1024}, closed({{}, {1}}));
  unsigned w = b.argument({1024, 16}, closed({{1}, {}}));
  b.result(b.einsum("IK,KJ->IJ", {x, w}), closed({{}, {0}}));
  AssignmentProblem &problem = b.problem;
  AssignmentOptions options;
  options.flopsPerByte = 1e9;
  double flops = problem.ops[2].rule.flops;
  EXPECT_EQ(assignChecked(problem, options).flops[2], flops);
  problem.ops[2].unsharedFactors = {2}; // K, split in 4
  EXPECT_EQ(assignChecked(problem, options).flops[2], 4 * flops);
}

TEST(Assignment, WhatASentValueBringsCountsWithItsBytes) {
  // A mask of 64 x 8 would be sent, and not rows of 64 x 16, ...
  ProgramBuilder b(mesh2x4());
  unsigned mask = b.argument({64, 8}, closed({{1}, {}}));
  unsigned w = b.argument({8, 16}, closed({{}, {}}));
  unsigned made = b.elementwise({mask}, ProgramBuilder::Nonlinear);
  b.result(b.einsum("IK,KJ->IJ", {made, w}), closed({{0}, {}}));
  AssignmentOptions options;
  options.memoryWeight = 0;
  Assignment before = assignChecked(b.problem, options);
  EXPECT_EQ(before.ops[3].axes[0], AxisList({0}));
  // ... if that did not bring more than it saves.
  b.problem.values[mask].flopsIfSent = 1e9;
  b.problem.values[made].flopsIfSent = 1e9;
  Assignment after = assignChecked(b.problem, options);
  EXPECT_EQ(after.ops[3].axes[0], AxisList({1}));
  EXPECT_LE(after.cost.compute, before.cost.compute);
}

//===----------------------------------------------------------------------===//
// The Mixture-of-Experts layer
//===----------------------------------------------------------------------===//

struct MoeCase {
  const char *name;
  MoeLayout layout;
  MoeAnnotations annotations;
  /// Bytes over those of GShard's plan.
  double expected;
};

class MoeAssignment : public ::testing::TestWithParam<MoeCase> {};

TEST_P(MoeAssignment, BytesAreAtMostThoseOfGShardsPlan) {
  const MoeCase &c = GetParam();
  MoeProgram moe(c.layout, c.annotations);
  Assignment made = assignChecked(moe.problem);
  // The auxiliary loss is a few bytes more.
  EXPECT_LE(made.cost.bytes(), c.expected * moe.need() * 1.001 + 16);
}

const MoeCase kMoeCases[] = {
    {"d8_full", MoeLayout::single(8), MoeAnnotations::Full, 1},
    {"d8_min", MoeLayout::single(8), MoeAnnotations::Min, 1},
    {"d8_none", MoeLayout::single(8), MoeAnnotations::None, 1},
    {"d16_full", MoeLayout::single(16), MoeAnnotations::Full, 1},
    {"d16_min", MoeLayout::single(16), MoeAnnotations::Min, 1},
    {"d16_none", MoeLayout::single(16), MoeAnnotations::None, 1},
    {"dp4_ep4_full", MoeLayout::threeAxes(4, 4, 1), MoeAnnotations::Full, 1},
    {"dp4_ep4_min", MoeLayout::threeAxes(4, 4, 1), MoeAnnotations::Min, 1},
    {"dp4_ep4_none", MoeLayout::threeAxes(4, 4, 1), MoeAnnotations::None, 1},
    {"dp2_ep2_tp2_full", MoeLayout::threeAxes(2, 2, 2), MoeAnnotations::Full,
     1},
    {"dp2_ep2_tp2_min", MoeLayout::threeAxes(2, 2, 2), MoeAnnotations::Min,
     0.75},
    {"dp2_ep2_tp2_none", MoeLayout::threeAxes(2, 2, 2), MoeAnnotations::None,
     0.75},
    {"dp1_ep4_tp2_full", MoeLayout::threeAxes(1, 4, 2), MoeAnnotations::Full,
     1},
    {"dp1_ep4_tp2_min", MoeLayout::threeAxes(1, 4, 2), MoeAnnotations::Min,
     0.75},
    {"dp1_ep4_tp2_none", MoeLayout::threeAxes(1, 4, 2), MoeAnnotations::None,
     0.75},
    {"dp1_ep4_tp4_min", MoeLayout::threeAxes(1, 4, 4), MoeAnnotations::Min,
     0.69},
    {"dp1_ep4_tp4_none", MoeLayout::threeAxes(1, 4, 4), MoeAnnotations::None,
     0.69},
    {"dp2_ep4_tp2_full", MoeLayout::threeAxes(2, 4, 2), MoeAnnotations::Full,
     1},
    {"dp2_ep4_tp2_min", MoeLayout::threeAxes(2, 4, 2), MoeAnnotations::Min,
     0.75},
    {"dp2_ep4_tp2_none", MoeLayout::threeAxes(2, 4, 2), MoeAnnotations::None,
     0.75}};

INSTANTIATE_TEST_SUITE_P(Table, MoeAssignment, ::testing::ValuesIn(kMoeCases),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

TEST(MoeAssignment, GreedyAloneReachesTwoAllToAllsOnOneAxis) {
  AssignmentOptions greedy;
  greedy.effort = SearchEffort::Greedy;
  for (auto annotations :
       {MoeAnnotations::Full, MoeAnnotations::Min, MoeAnnotations::None}) {
    MoeProgram moe(MoeLayout::single(8), annotations);
    Assignment made = assignChecked(moe.problem, greedy);
    EXPECT_LE(made.cost.bytes(), moe.need() + 16);
  }
}

TEST(MoeAssignment, SumOverTensorParallelExpertsMovesBehindTheCombine) {
  MoeProgram moe(MoeLayout::threeAxes(2, 2, 2), MoeAnnotations::Min);
  Assignment made = assignChecked(moe.problem);
  // No all_reduce of the expert output: it stays partial, or is scattered.
  AxisId tp = moe.layout.tp[0];
  for (const ValueVersion &version : made.values[moe.expertOutput])
    EXPECT_TRUE(version.sharding.uses(tp))
        << toString(version.sharding, moe.problem.mesh);
}

TEST(MoeAssignment, EffortLowersTheCost) {
  for (auto annotations : {MoeAnnotations::Min, MoeAnnotations::None}) {
    MoeProgram moe(MoeLayout::threeAxes(2, 2, 2), annotations);
    double last = std::numeric_limits<double>::infinity();
    for (auto effort : {SearchEffort::Greedy, SearchEffort::Descent,
                        SearchEffort::Quick, SearchEffort::Full}) {
      AssignmentOptions options;
      options.effort = effort;
      double cost = assignChecked(moe.problem, options).cost.total();
      EXPECT_LE(cost, last);
      last = cost;
    }
  }
}

TEST(MoeAssignment, SameAnswerEveryTime) {
  MoeProgram moe(MoeLayout::threeAxes(2, 2, 2), MoeAnnotations::None);
  Assignment first = assignShardings(moe.problem);
  Assignment second = assignShardings(moe.problem);
  EXPECT_EQ(first.ops, second.ops);
  EXPECT_EQ(first.cost.total(), second.cost.total());
}

TEST(MoeAssignment, CostDoesNotDependOnTheOrderOfOps) {
  for (auto annotations :
       {MoeAnnotations::Full, MoeAnnotations::Min, MoeAnnotations::None}) {
    MoeLayout layout = MoeLayout::threeAxes(2, 2, 2);
    MoeProgram forward(layout, annotations);
    MoeProgram reversed(layout, annotations, /*reversed=*/true);
    double a = assignChecked(forward.problem).cost.total();
    double b = assignChecked(reversed.problem).cost.total();
    EXPECT_NEAR(a, b, 0.001 * a);
  }
}

TEST(MoeAssignment, IsAsGoodOnThousandsOfDevices) {
  MoeProgram moe(MoeLayout::threeAxes(256, 4, 2), MoeAnnotations::Min);
  Assignment made = assignChecked(moe.problem);
  EXPECT_LE(made.cost.bytes(), 0.75 * moe.need() * 1.001 + 16);
}

} // namespace
