// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The parts of the search against exhaustive enumeration.

#include "Sharding/Assignment/Search.h"
#include "AllPlans.h"
#include "MoeProgram.h"
#include "Sharding/Assignment/ProblemSearch.h"
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace shoal;
using namespace shoal::assignment;
using namespace shoal::testing;

namespace {

Mesh mesh2x2() { return makeMesh({{"x", 2}, {"y", 2}}); }

double searched(const AssignmentProblem &problem,
                const AssignmentOptions &options) {
  return assignShardings(problem, options).cost.total();
}

TEST(Search, FindsTheOptimumOfAChainOfProducts) {
  ProgramBuilder b(makeMesh({{"x", 4}}));
  unsigned x = b.argument({64, 16}, closed({{0}, {}}));
  unsigned w = b.argument({16, 32}, closed({{}, {}}));
  unsigned v = b.argument({32, 16}, closed({{}, {0}}));
  unsigned h = b.einsum("IK,KJ->IJ", {x, w});
  h = b.elementwise({h}, ProgramBuilder::Nonlinear);
  unsigned y = b.einsum("IJ,JK->IK", {h, v});
  b.result(y, closed({{}, {0}}));
  AssignmentOptions options;
  options.repeatMargin = 1;
  CostTables tables(b.problem, options, {0});
  EXPECT_NEAR(searched(b.problem, options), bestOfAll(tables), 1e-9);
}

TEST(Search, FindsTheOptimumWithTwoAxesAndPartialSums) {
  ProgramBuilder b(mesh2x2());
  unsigned x = b.argument({8, 16}, closed({{0}, {1}}));
  unsigned w = b.argument({16, 4}, closed({{1}, {}}));
  unsigned c = b.einsum("IK,KJ->IJ", {x, w});
  unsigned s = b.reduce(c, 0, ReduceKind::Sum);
  b.result(s, closed({{}}));
  AssignmentOptions options;
  options.repeatMargin = 1;
  CostTables tables(b.problem, options, {0, 1});
  EXPECT_NEAR(searched(b.problem, options), bestOfAll(tables), 1e-9);
}

TEST(Search, IsCloseToTheOptimumOfRandomPrograms) {
  std::mt19937 random(7);
  double sumSearched = 0, sumBest = 0;
  int optimal = 0;
  constexpr int kPrograms = 300;
  for (int i = 0; i < kPrograms; ++i) {
    Mesh mesh = i % 2 ? makeMesh({{"x", 4}}) : mesh2x2();
    AssignmentProblem problem = randomProgram(random, mesh);
    AssignmentOptions options;
    options.repeatMargin = 1;
    CostTables tables(problem, options, preferredAxisOrder(problem));
    double best = bestOfAll(tables), own = searched(problem, options);
    EXPECT_GE(own, best - 1e-6);
    sumSearched += own;
    sumBest += best;
    optimal += own <= best + 1e-6;
  }
  EXPECT_GE(optimal, kPrograms * 98 / 100);
  EXPECT_LE(sumSearched, sumBest * 1.002);
}

// With arithmetic that is dear the hints alone lead to the same plan as they do
// without; from nothing split the search gets to a cheaper one.
TEST(Search, BeginsWithDearArithmeticWhereNothingIsSplitToo) {
  std::mt19937 random(872);
  AssignmentProblem problem = randomProgram(random, mesh2x2(), 10);
  AssignmentOptions options;
  options.repeatMargin = 1;
  auto costWithout = [&](std::initializer_list<llvm::StringRef> starts) {
    return ProblemSearch(problem, options, starts).run().cost.total();
  };
  constexpr llvm::StringLiteral bound = "what the bound suggests",
                                dear = "what is found where arithmetic counts "
                                       "tenfold";
  EXPECT_LE(costWithout({bound}), 0.9 * costWithout({bound, dear}));
}

TEST(Plan, CostChangeIsTheDifferenceOfTotals) {
  std::mt19937 random(3);
  MoeProgram moe(MoeLayout::threeAxes(2, 2, 2), MoeAnnotations::Min);
  AssignmentOptions options;
  CostTables tables(moe.problem, options, {0, 1, 2});
  Plan plan(tables, std::vector<ChoiceIndex>(moe.problem.ops.size(), 0));
  int moves = 0;
  for (int i = 0; i < 2000; ++i) {
    unsigned op = random() % moe.problem.ops.size();
    ChoiceIndex next = random() % tables.classOf(op).numChoices();
    double before = plan.totalCost();
    std::optional<double> change = plan.costChange(op, next);
    EXPECT_EQ(plan.totalCost(), before) << "asking changes nothing";
    if (!change)
      continue;
    plan.move(op, next);
    ++moves;
    EXPECT_NEAR(plan.totalCost() - before, *change, 1e-6 * before);
  }
  EXPECT_GT(moves, 500);
}

TEST(VersionTree, IsTheCheapestOfAllTreesForThreeNeeds) {
  ProgramBuilder b(mesh2x2());
  unsigned v = b.argument({16, 8});
  AssignmentOptions options;
  options.repeatMargin = 1;
  CostTables tables(b.problem, options, {0, 1});
  auto layout = [&](std::initializer_list<AxisList> dims,
                    AxisList partial = {}) {
    Sharding sharding;
    sharding.dims.assign(dims.begin(), dims.end());
    sharding.partial = partial;
    return tables.intern({sharding, 0});
  };
  LayoutId nodes[] = {layout({{}, {}}, {0, 1}), layout({{0}, {1}}),
                      layout({{}, {1}}), layout({{1}, {}})};
  double best = std::numeric_limits<double>::infinity();
  // Parents of nodes 1, 2, 3; without cycles all lead to node 0.
  for (int code = 0; code < 64; ++code) {
    int parent[] = {0, code & 3, code >> 2 & 3, code >> 4 & 3};
    double cost = 0;
    bool isTree = true;
    for (int i = 1; i < 4; ++i) {
      cost += tables.reshard(v, nodes[parent[i]], nodes[i]);
      int at = i;
      for (int step = 0; step < 4; ++step)
        at = parent[at];
      isTree &= at == 0;
    }
    if (isTree)
      best = std::min(best, cost);
  }
  VersionTree tree =
      findVersionTree(tables, v, nodes[0], {nodes[1], nodes[2], nodes[3]});
  EXPECT_DOUBLE_EQ(tree.cost, best);
  EXPECT_EQ(tree.nodes.size(), 4u);
}

TEST(OpClass, OpsOfOneRuleShareTheirChoices) {
  ProgramBuilder b(mesh2x2());
  unsigned x = b.argument({8, 8});
  unsigned y = b.elementwise({x}, ProgramBuilder::Nonlinear);
  b.elementwise({y}, ProgramBuilder::Nonlinear);
  AssignmentOptions options;
  options.repeatMargin = 1;
  CostTables tables(b.problem, options, {0, 1});
  EXPECT_EQ(&tables.classOf(1), &tables.classOf(2));
  EXPECT_NE(&tables.classOf(0), &tables.classOf(1));
  EXPECT_EQ(tables.classOf(1).numChoices(), 9u) << "3 labels on 2 axes";
}

using Group = std::vector<unsigned>;

TEST(KeptRows, AreWhatALoopWritesAndAnotherReads) {
  ProgramBuilder b(makeMesh({{"x", 4}}));
  unsigned zeros = b.constant({3, 8, 4}), first = b.lastOp();
  auto [rows, all] = b.loop(zeros);
  unsigned join = b.lastOp();
  unsigned x = b.argument({8, 4});
  b.yield(rows, b.writeRow(rows, x));
  unsigned write = b.lastOp(), reshaped = write - 1;
  unsigned row = b.readRow(all), back = b.lastOp(), read = back - 1;
  b.result(b.elementwise({row}, ProgramBuilder::Nonlinear));
  unsigned reader = b.lastOp() - 1;
  std::vector<Move> moves = findKeptRowMoves(b.problem);
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0].ops,
            (Group{join, write, first, reshaped, read, back, reader}));
  for (auto [op, wants] : llvm::zip_equal(moves[0].ops, moves[0].wants))
    EXPECT_EQ(wants.empty(), op == reader);
}

TEST(KeptRows, AreNoRowsOfAnArrayThatIsNotCarried) {
  ProgramBuilder b(makeMesh({{"x", 4}}));
  unsigned zeros = b.constant({3, 8, 4});
  b.result(b.writeRow(zeros, b.argument({8, 4})));
  EXPECT_TRUE(findKeptRowMoves(b.problem).empty());
}

/// Of a loop that writes so many rows.
AssignmentCost costOfRows(int64_t count) {
  ProgramBuilder b(makeMesh({{"x", 4}}));
  auto [rows, all] = b.loop(b.constant({count, 64, 64}));
  b.yield(rows, b.writeRow(rows, b.argument({64, 64}, closed({{0}, {}}))));
  b.problem.ops.back().weight = count;
  b.result(all);
  return assignShardings(b.problem).cost;
}

TEST(Search, CountsRowsThatALoopWritesOnce) {
  double few = costOfRows(4).memory, many = costOfRows(400).memory;
  EXPECT_LT(many, 101 * few);
}

} // namespace
