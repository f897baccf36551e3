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
  uint64_t since = plan.now();
  Trial trial(plan);
  for (int i = 0; i < 50; ++i) {
    auto [op, index] = draw();
    trial.move(op, index);
  }
  EXPECT_FALSE(plan.isUnchanged(all, since));
  trial.takeBack();
  EXPECT_TRUE(plan.isUnchanged(all, since));
  EXPECT_DOUBLE_EQ(plan.totalCost(), before);
}

TEST_F(PlanTest, AMoveChangesTheOpsWithWhichItSharesAValue) {
  unsigned op = problem.ops.size() / 2;
  uint64_t since = plan.now();
  Trial trial(plan);
  trial.move(op, plan.choiceOf(op));
  for (unsigned other = 0; other < problem.ops.size(); ++other) {
    bool shares = llvm::any_of(plan.valuesOf(op), [&](unsigned value) {
      return llvm::is_contained(plan.valuesOf(other), value);
    });
    EXPECT_EQ(plan.isUnchanged({other}, since), !shares) << "op " << other;
  }
}

TEST_F(PlanTest, FailuresAreForgottenWhenPricesChange) {
  TryId id{TryId::Chain, 3, 1, 2};
  EXPECT_EQ(plan.lastFailure(id), nullptr);
  plan.noteFailure(id, {plan.now(), 1, {3}});
  ASSERT_NE(plan.lastFailure(id), nullptr);
  EXPECT_EQ(plan.lastFailure({TryId::Chain, 3, 1, 1}), nullptr);
  tables.setFlopsPerByte(7);
  EXPECT_EQ(plan.lastFailure(id), nullptr);
}

} // namespace
