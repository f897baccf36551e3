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
