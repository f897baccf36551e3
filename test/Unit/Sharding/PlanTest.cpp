// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Prices of changes that were looked up, against plans made anew; what counts
// as a move.

#include "Sharding/Assignment/Plan.h"
#include "ProgramBuilder.h"
#include <gtest/gtest.h>
#include <random>

using namespace shoal;
using namespace shoal::assignment;
using namespace shoal::testing;

namespace {

/// Layers of h = tanh(h w + h) v: some share weights, and one op reads a value
/// twice.
AssignmentProblem layers(int count) {
  ProgramBuilder b(makeMesh({{"x", 2}, {"y", 4}}));
  unsigned h = b.argument({64, 32}, closed({{0}, {}}));
  unsigned w = b.argument({32, 32}, closed({{}, {1}}));
  for (int i = 0; i < count; ++i) {
    unsigned v = b.argument({32, 32}, closed({{1}, {}}));
    unsigned product = b.einsum("IK,KJ->IJ", {h, w});
    unsigned sum = b.elementwise({product, h}, ProgramBuilder::Additive);
    unsigned bent = b.elementwise({sum, sum}, ProgramBuilder::Nonlinear);
    h = b.einsum("IK,KJ->IJ", {bent, v});
  }
  b.result(h, closed({{0}, {}}));
  return std::move(b.problem);
}

/// The examples above findVersionTree and what it is made of.
class VersionTreeTest : public ::testing::Test {
protected:
  VersionTreeTest() : builder(makeMesh({{"x", 2}, {"y", 4}})) {
    value = builder.argument({64, 32});
    tables.emplace(builder.problem, options, AxisList{0, 1});
  }

  LayoutId split(AxisList rows, AxisList columns, AxisList partial = {}) {
    return tables->intern({{{rows, columns}, partial}});
  }

  /// The tree as layouts and parents.
  std::vector<std::pair<LayoutId, unsigned>>
  find(LayoutId made, std::vector<LayoutId> needed, double cost) {
    VersionTree tree = findVersionTree(*tables, value, made, needed);
    EXPECT_EQ(tree.cost, cost);
    std::vector<std::pair<LayoutId, unsigned>> nodes;
    for (const VersionTree::Node &node : tree.nodes)
      nodes.emplace_back(node.layout, node.parent);
    return nodes;
  }

  ProgramBuilder builder;
  AssignmentOptions options;
  unsigned value = 0;
  std::optional<CostTables> tables;
};

using Nodes = std::vector<std::pair<LayoutId, unsigned>>;

TEST_F(VersionTreeTest, WhatIsGatheredServesTheOthers) {
  LayoutId made = split({0}, {}), columns = split({}, {0}),
           whole = split({}, {});
  EXPECT_EQ(tables->reshard(value, made, columns), 2048);
  EXPECT_EQ(tables->reshard(value, made, whole), 4096);
  EXPECT_EQ(tables->reshard(value, columns, whole), 4096);
  EXPECT_EQ(tables->reshard(value, whole, columns), 0);
  EXPECT_EQ(find(made, {columns, whole}, 4096),
            (Nodes{{made, 0}, {whole, 0}, {columns, 1}}));
  EXPECT_EQ(find(made, {columns}, 2048), (Nodes{{made, 0}, {columns, 0}}));
}

TEST_F(VersionTreeTest, ASumIsScatteredOnceAndGatheredFromThere) {
  LayoutId sums = split({}, {}, {0, 1}), rows = split({0, 1}, {});
  LayoutId whole = split({}, {});
  EXPECT_EQ(tables->reshard(value, sums, rows), 7168);
  EXPECT_EQ(tables->reshard(value, sums, whole), 14336);
  EXPECT_EQ(tables->reshard(value, rows, whole), 7168);
  EXPECT_EQ(find(sums, {rows, whole}, 14336),
            (Nodes{{sums, 0}, {rows, 0}, {whole, 1}}));
}

TEST_F(VersionTreeTest, OfManyLayoutsTheNearestGoesFirst) {
  LayoutId made = split({0}, {}), columns = split({}, {0}),
           whole = split({}, {});
  LayoutId finer = split({0, 1}, {}), both = split({0}, {1});
  EXPECT_EQ(
      find(made, {columns, whole, finer, both}, 6144),
      (Nodes{{made, 0}, {finer, 0}, {both, 0}, {columns, 0}, {whole, 0}}));
}

class PlanTest : public ::testing::Test {
protected:
  PlanTest()
      : problem(layers(6)), tables(problem, options, {0, 1}),
        choices(problem.ops.size(), 0), plan(tables, choices) {}

  /// An allowed choice of an op, at random.
  std::pair<unsigned, ChoiceIndex> draw() {
    while (true) {
      unsigned op = random() % problem.ops.size();
      ChoiceIndex index = random() % tables.classOf(op).numChoices();
      if (tables.choice(op, index))
        return {op, index};
    }
  }

  void move(unsigned op, ChoiceIndex index) {
    plan.move(op, index);
    choices[op] = index;
  }

  double costWith(unsigned op, ChoiceIndex index) {
    std::vector<ChoiceIndex> changed = choices;
    changed[op] = index;
    return Plan(tables, changed).totalCost();
  }

  AssignmentOptions options;
  AssignmentProblem problem;
  CostTables tables;
  std::vector<ChoiceIndex> choices;
  Plan plan;
  std::mt19937 random{1};
};

TEST_F(PlanTest, PricesOfChangesAreThoseOfNewPlans) {
  for (int round = 0; round < 300; ++round) {
    auto [op, index] = draw();
    double now = Plan(tables, choices).totalCost();
    double change = *plan.costChange(op, index);
    EXPECT_NEAR(now + change, costWith(op, index), 1e-6 * (1 + now));
    if (round % 3 == 0)
      move(op, index);
  }
}

TEST_F(PlanTest, OtherPricesOfArithmeticAreNotThoseKnown) {
  auto [op, index] = draw();
  for (double flopsPerByte : {1e-3, 1e3, 1e-3}) {
    tables.setFlopsPerByte(flopsPerByte);
    double now = Plan(tables, choices).totalCost();
    EXPECT_NEAR(now + *plan.costChange(op, index), costWith(op, index),
                1e-6 * (1 + now));
  }
}

TEST_F(PlanTest, BestChangeIsTheBestOfAll) {
  for (int round = 0; round < 100; ++round) {
    auto [op, index] = draw();
    const OpClass &opClass = tables.classOf(op);
    double least = -kMinGain;
    for (AxisId axis : {0, 1})
      for (unsigned label = 0; label < opClass.numLabels(axis); ++label) {
        ChoiceIndex next = opClass.withLabel(choices[op], axis, label);
        if (tables.choice(op, next))
          least =
              std::min(least, costWith(op, next) - costWith(op, choices[op]));
      }
    std::optional<ChoiceIndex> best = plan.findBestChange(op);
    double found =
        best ? costWith(op, *best) - costWith(op, choices[op]) : -kMinGain;
    EXPECT_NEAR(found, least, 1e-6 * (1 + std::abs(least)));
    move(op, index);
  }
}

TEST_F(PlanTest, WhatIsTakenBackWasNoMove) {
  std::vector<unsigned> all(problem.ops.size());
  std::iota(all.begin(), all.end(), 0);
  double before = plan.totalCost();
  uint64_t digest = plan.digestOf(all);
  Trial trial(plan);
  for (int i = 0; i < 50; ++i) {
    auto [op, index] = draw();
    trial.move(op, index);
  }
  EXPECT_NE(plan.digestOf(all), digest);
  trial.takeBack();
  EXPECT_EQ(plan.digestOf(all), digest);
  EXPECT_DOUBLE_EQ(plan.totalCost(), before);
}

/// Also where so many operands need a layout that one more or less of them
/// changes no price of a single move.
TEST_F(PlanTest, AMoveChangesTheOpsWithWhichItSharesAValue) {
  for (int round = 0; round < 20; ++round) {
    auto [op, index] = draw();
    const Choice &before = plan.resolved(op),
                 &after = *tables.choice(op, index);
    if (before.operands == after.operands && before.results == after.results)
      continue;
    std::vector<uint64_t> digests;
    for (unsigned other = 0; other < problem.ops.size(); ++other)
      digests.push_back(plan.digestOf({other}));
    llvm::SmallVector<unsigned> changed;
    for (auto [values, from, to] :
         {std::tuple(llvm::ArrayRef(problem.ops[op].operands),
                     llvm::ArrayRef(before.operands),
                     llvm::ArrayRef(after.operands)),
          std::tuple(llvm::ArrayRef(problem.ops[op].results),
                     llvm::ArrayRef(before.results),
                     llvm::ArrayRef(after.results))})
      for (size_t i = 0; i < values.size(); ++i)
        if (from[i] != to[i])
          changed.push_back(values[i]);
    move(op, index);
    for (unsigned other = 0; other < problem.ops.size(); ++other) {
      bool shares = other == op || llvm::any_of(changed, [&](unsigned value) {
                      return llvm::is_contained(plan.valuesOf(other), value);
                    });
      EXPECT_EQ(plan.digestOf({other}) != digests[other], shares)
          << "op " << other << " beside op " << op;
    }
  }
}

TEST_F(PlanTest, AFailureHoldsForPlansThatAreAlikeWhereItLooked) {
  TryId id{0, 3, 1, 2};
  EXPECT_FALSE(plan.isFailure(id));
  plan.noteFailure(id, {2, 3});
  EXPECT_TRUE(plan.isFailure(id));
  EXPECT_FALSE(plan.isFailure({0, 3, 1, 1}));
  // Of another plan, and where the last op is another.
  std::vector<ChoiceIndex> others = choices;
  unsigned last = problem.ops.size() - 3;
  while (others[last] == choices[last] || !tables.choice(last, others[last]))
    others[last] = random() % tables.classOf(last).numChoices();
  EXPECT_TRUE(Plan(tables, others).isFailure(id));
  // Not where what it looked at is.
  others = choices;
  while (others[3] == choices[3] || !tables.choice(3, others[3]))
    others[3] = random() % tables.classOf(3).numChoices();
  EXPECT_FALSE(Plan(tables, others).isFailure(id));
}

TEST_F(PlanTest, AChainThatWasGivenUpFailsWithNoMoreToLose) {
  TryId id{0, 3, 1, 2};
  plan.noteFailure(id, {3}, /*lost=*/10);
  EXPECT_TRUE(plan.isFailure(id, /*mostLost=*/9));
  EXPECT_FALSE(plan.isFailure(id, /*mostLost=*/11));
}

TEST_F(PlanTest, FailuresAreOfOnePrice) {
  TryId id{0, 3, 1, 2};
  plan.noteFailure(id, {3});
  double price = options.flopsPerByte;
  tables.setFlopsPerByte(7);
  EXPECT_FALSE(plan.isFailure(id));
  tables.setFlopsPerByte(price);
  EXPECT_TRUE(plan.isFailure(id));
}

} // namespace
