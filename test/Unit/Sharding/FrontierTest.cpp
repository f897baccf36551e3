// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the neighbours of a moved op would do, looked up against computed.

#include "Sharding/Assignment/Frontier.h"
#include "ProgramBuilder.h"
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <random>

using namespace shoal;
using namespace shoal::assignment;
using namespace shoal::testing;

namespace {

/// Layers of h = tanh(h w + h) v, all with the same w and v.
AssignmentProblem layersOfCommonWeights(int layers) {
  ProgramBuilder b(makeMesh({{"x", 2}, {"y", 4}}));
  unsigned h = b.argument({64, 32}, closed({{0}, {}}));
  unsigned w = b.argument({32, 32}, closed({{}, {1}}));
  unsigned v = b.argument({32, 32}, closed({{1}, {}}));
  for (int i = 0; i < layers; ++i) {
    unsigned product = b.einsum("IK,KJ->IJ", {h, w});
    unsigned sum = b.elementwise({product, h}, ProgramBuilder::Additive);
    unsigned bent = b.elementwise({sum, sum}, ProgramBuilder::Nonlinear);
    h = b.einsum("IK,KJ->IJ", {bent, v});
  }
  b.result(h, closed({{0}, {}}));
  return std::move(b.problem);
}

/// Where an op has `axis` on one of its values, in each place.
std::vector<int> locationsOf(CostTables &tables, unsigned op,
                             const Choice &choice, unsigned value,
                             AxisId axis) {
  std::vector<int> locations;
  const AssignmentProblem::Op &own = tables.problem.ops[op];
  for (auto [i, operand] : llvm::enumerate(own.operands))
    if (operand == value)
      locations.push_back(tables.location(choice.operands[i], axis));
  for (auto [i, result] : llvm::enumerate(own.results))
    if (result == value)
      locations.push_back(tables.location(choice.results[i], axis));
  return locations;
}

/// The cheapest of all moves on one axis by which an op next to `moved` has the
/// axis where `moved` has it on a value of both.
double leastChange(Plan &plan, unsigned moved, AxisId axis) {
  CostTables &tables = plan.getTables();
  double least = std::numeric_limits<double>::infinity();
  for (unsigned value : plan.valuesOf(moved)) {
    int location =
        locationsOf(tables, moved, plan.resolved(moved), value, axis).front();
    for (unsigned op : plan.opsOf(value)) {
      const OpClass &opClass = tables.classOf(op);
      for (unsigned label = 0; label < opClass.numLabels(axis); ++label) {
        ChoiceIndex next = opClass.withLabel(plan.choiceOf(op), axis, label);
        const Choice *choice = tables.choice(op, next);
        if (op != moved && choice && next != plan.choiceOf(op) &&
            llvm::is_contained(locationsOf(tables, op, *choice, value, axis),
                               location))
          least = std::min(least, *plan.costChange(op, next));
      }
    }
  }
  return least;
}

TEST(Frontier, FindsTheCheapestMoveNextToAMovedOp) {
  AssignmentProblem problem = layersOfCommonWeights(4);
  AssignmentOptions options;
  CostTables tables(problem, options, {0, 1});
  Plan plan(tables, std::vector<ChoiceIndex>(problem.ops.size(), 0));
  Frontier frontier(plan);
  std::mt19937 random(5);
  int found = 0;
  for (int i = 0; i < 3000; ++i) {
    unsigned op = random() % problem.ops.size();
    ChoiceIndex next = random() % tables.classOf(op).numChoices();
    AxisId axis = random() % 2;
    if (!tables.choice(op, next))
      continue;
    plan.move(op, next);
    frontier.begin(axis);
    frontier.expand(op);
    std::optional<Candidate> best = frontier.findNext();
    double least = leastChange(plan, op, axis);
    ASSERT_EQ(best ? best->change : std::numeric_limits<double>::infinity(),
              least);
    if (!best)
      continue;
    ++found;
    EXPECT_EQ(plan.costChange(best->op, best->index), best->change);
  }
  EXPECT_GT(found, 500);
}

/// Bytes alone.
AssignmentOptions bytesAlone() {
  AssignmentOptions options;
  options.memoryWeight = 0;
  return options;
}

/// As `choice`, but that `axis` splits dimension `dim` of an elementwise op.
ChoiceIndex splitting(CostTables &tables, unsigned op, ChoiceIndex choice,
                      AxisId axis, unsigned dim) {
  const OpClass &opClass = tables.classOf(op);
  for (unsigned label = 0; label < opClass.numLabels(axis); ++label) {
    ChoiceIndex index = opClass.withLabel(choice, axis, label);
    if (opClass.label(index, axis) == Label{Label::Factor, dim})
      return index;
  }
  ADD_FAILURE() << "op " << op << " cannot split dimension " << dim;
  return choice;
}

/// The example above Frontier.
TEST(Frontier, AChainPullsTheGatherBehindTheProgram) {
  ProgramBuilder b(makeMesh({{"x", 2}}));
  unsigned a = b.argument({64, 32}, closed({{0}, {}}));
  unsigned e = b.elementwise({a}, ProgramBuilder::Nonlinear);
  unsigned c = b.elementwise({e}, ProgramBuilder::Nonlinear);
  b.result(c, closed({{0}, {}}));
  AssignmentOptions options = bytesAlone();
  CostTables tables(b.problem, options, {0});
  Plan plan(tables, {0, 0, 0, 0});
  EXPECT_EQ(plan.totalCost(), 4096);
  EXPECT_EQ(plan.findBestChange(1), std::nullopt);

  Frontier frontier(plan);
  frontier.begin(0);
  ChoiceIndex first = splitting(tables, 1, 0, 0, 0);
  EXPECT_EQ(plan.costChange(1, first), 0);
  plan.move(1, first);
  frontier.expand(1);
  EXPECT_EQ(frontier.opsSeen(), (llvm::ArrayRef<unsigned>{1, 2}));
  std::optional<Candidate> next = frontier.findNext();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->op, 2u);
  EXPECT_EQ(next->index, splitting(tables, 2, 0, 0, 0));
  EXPECT_EQ(next->change, -4096);
  plan.move(next->op, next->index);
  frontier.expand(2);
  EXPECT_FALSE(frontier.findNext());
  EXPECT_EQ(plan.totalCost(), 0);
}

/// The example above Frontier::askNear.
TEST(Frontier, AsksTheNearestOfManyUsers) {
  ProgramBuilder b(makeMesh({{"x", 2}}));
  unsigned w = b.argument({64, 32});
  for (int i = 0; i < 10; ++i)
    b.elementwise({w}, ProgramBuilder::Nonlinear);
  AssignmentOptions options = bytesAlone();
  options.maxMovesPerChain = 4;
  CostTables tables(b.problem, options, {0});
  Plan plan(tables, std::vector<ChoiceIndex>(11, 0));
  EXPECT_EQ(plan.opsNear(w, 4, 4), (llvm::ArrayRef<unsigned>{2, 3, 4, 5}));
  EXPECT_EQ(plan.opsNear(w, 0, 4), (llvm::ArrayRef<unsigned>{0, 1, 2, 3}));
  EXPECT_EQ(plan.opsNear(w, 10, 4), (llvm::ArrayRef<unsigned>{7, 8, 9, 10}));

  Frontier frontier(plan);
  frontier.begin(0);
  auto moveAndExpand = [&](unsigned op) {
    plan.move(op, splitting(tables, op, 0, 0, 0));
    frontier.expand(op);
  };
  moveAndExpand(4);
  EXPECT_EQ(frontier.opsSeen(), (llvm::ArrayRef<unsigned>{4, 2, 3, 5}));
  moveAndExpand(5);
  EXPECT_EQ(frontier.opsSeen(), (llvm::ArrayRef<unsigned>{4, 2, 3, 5, 6}));
  uint64_t changed = plan.changedAt(w);
  moveAndExpand(6);
  EXPECT_EQ(plan.changedAt(w), changed);
  EXPECT_EQ(frontier.opsSeen(), (llvm::ArrayRef<unsigned>{4, 2, 3, 5, 6, 7}));
}

/// The example above Frontier::grants.
TEST(Frontier, AProductIsAskedForRowsOfItsResult) {
  ProgramBuilder b(makeMesh({{"x", 2}}));
  unsigned h = b.argument({64, 32}), w = b.argument({32, 32});
  unsigned p = b.einsum("IK,KJ->IJ", {h, w});
  b.elementwise({p, p}, ProgramBuilder::Additive);
  AssignmentOptions options = bytesAlone();
  CostTables tables(b.problem, options, {0});
  Plan plan(tables, {0, 0, 0, 0});
  Frontier frontier(plan);
  for (auto [moved, asked] : {std::pair(3u, 2u), {2u, 3u}}) {
    ChoiceIndex before = plan.choiceOf(moved);
    plan.move(moved, splitting(tables, moved, 0, 0, 0));
    frontier.begin(0);
    frontier.expand(moved);
    std::optional<Candidate> next = frontier.findNext();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->op, asked);
    EXPECT_EQ(next->index, splitting(tables, asked, 0, 0, 0));
    plan.move(moved, before);
  }
}

/// The example above Frontier::update.
TEST(Frontier, LooksUpTheBestMoveOfAnOpLikeOneBefore) {
  ProgramBuilder b(makeMesh({{"x", 2}}));
  for (int i = 0; i < 2; ++i) {
    unsigned a = b.argument({64, 32}, closed({{0}, {}}));
    unsigned e = b.elementwise({a}, ProgramBuilder::Nonlinear);
    unsigned c = b.elementwise({e}, ProgramBuilder::Nonlinear);
    b.result(c, closed({{0}, {}}));
  }
  AssignmentOptions options = bytesAlone();
  CostTables tables(b.problem, options, {0});
  Plan plan(tables, std::vector<ChoiceIndex>(8, 0));
  Frontier frontier(plan);
  const auto &computed = tables.getKnownCosts().granting;
  for (unsigned op : {1, 5}) {
    frontier.begin(0);
    plan.move(op, splitting(tables, op, 0, 0, 0));
    frontier.expand(op);
    std::optional<Candidate> next = frontier.findNext();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->op, op + 1);
    EXPECT_EQ(next->change, -4096);
    EXPECT_EQ(computed.size(), 1u);
  }
}

TEST(Plan, ValuesOfOneTypeInOneStateCostTheSame) {
  AssignmentProblem problem = layersOfCommonWeights(4);
  AssignmentOptions options;
  CostTables tables(problem, options, {0, 1});
  Plan plan(tables, std::vector<ChoiceIndex>(problem.ops.size(), 0));
  std::mt19937 random(6);
  std::map<StateId, double> costs;
  for (int i = 0; i < 2000; ++i) {
    unsigned op = random() % problem.ops.size();
    ChoiceIndex next = random() % tables.classOf(op).numChoices();
    if (!tables.choice(op, next))
      continue;
    plan.move(op, next);
    for (unsigned value = 0; value < problem.values.size(); ++value) {
      auto [it, isNew] =
          costs.try_emplace(plan.stateOf(value), plan.valueCost(value));
      ASSERT_EQ(it->second, plan.versionTree(value).cost);
    }
  }
}

} // namespace
