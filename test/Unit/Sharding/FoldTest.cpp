// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Layers that repeat: what is left out, and that the plan is as good as
// without.

#include "Sharding/Assignment/Fold.h"
#include "CheckedAssignment.h"
#include "ProgramBuilder.h"
#include "shoal/Sharding/CanonicalOrder.h"
#include <gtest/gtest.h>

using namespace shoal;
using namespace shoal::assignment;
using namespace shoal::testing;

namespace {

constexpr int64_t kRows = 64, kWidth = 32, kHidden = 128;

/// Perceptrons one behind the other, and the gradients of their weights.
class Stack {
public:
  /// The first weight of every `period`-th layer is twice as wide.
  explicit Stack(int layers, int period = 1)
      : b(makeMesh({{"data", 4}, {"model", 2}})) {
    Value x = b.argument({kRows, kWidth}, closed({{0}, {}}));
    for (int i = 0; i < layers; ++i)
      x = addLayer(x, i % period == 0 ? kHidden : 2 * kHidden);
    Value cotangent = b.elementwise({x}, ProgramBuilder::Nonlinear);
    while (!saved.empty())
      cotangent = addGradient(cotangent);
    b.result(cotangent);
    for (Value gradient : gradients)
      b.result(gradient);
    ReorderedProblem canonical(b.problem, canonicalOrder(b.problem));
    problem = canonical.problem;
  }

  AssignmentProblem problem;

private:
  using Value = unsigned;
  struct Layer {
    Value x, w1, hidden, w2;
  };

  Value addLayer(Value x, int64_t hidden) {
    Value w1 = b.argument({kWidth, hidden}, closed({{}, {1}}));
    Value w2 = b.argument({hidden, kWidth}, closed({{1}, {}}));
    Value h = b.elementwise({b.einsum("BM,MH->BH", {x, w1})},
                            ProgramBuilder::Nonlinear);
    saved.push_back({x, w1, h, w2});
    return b.elementwise({x, b.einsum("BH,HM->BM", {h, w2})},
                         ProgramBuilder::Additive);
  }

  Value addGradient(Value cotangent) {
    Layer layer = saved.back();
    saved.pop_back();
    gradients.push_back(b.einsum("BH,BM->HM", {layer.hidden, cotangent}));
    Value h = b.elementwise(
        {b.einsum("BM,HM->BH", {cotangent, layer.w2}), layer.hidden},
        ProgramBuilder::Multiplicative);
    gradients.push_back(b.einsum("BM,BH->MH", {layer.x, h}));
    return b.elementwise({cotangent, b.einsum("BH,MH->BM", {h, layer.w1})},
                         ProgramBuilder::Additive);
  }

  ProgramBuilder b;
  std::vector<Layer> saved;
  std::vector<Value> gradients;
};

size_t opsLeft(const AssignmentProblem &problem) {
  std::optional<FoldedProblem> folded = foldRepeats(problem);
  return folded ? folded->problem.ops.size() : problem.ops.size();
}

TEST(Fold, LeavesFourLayersOfMany) {
  size_t twelve = opsLeft(Stack(12).problem), many = opsLeft(Stack(48).problem);
  EXPECT_EQ(twelve, many);
  EXPECT_LE(twelve, Stack(5).problem.ops.size());
}

TEST(Fold, LeavesFewLayersAsTheyAre) {
  EXPECT_FALSE(foldRepeats(Stack(1).problem));
  EXPECT_FALSE(foldRepeats(Stack(5).problem));
}

TEST(Fold, LayersOfTwoKindsTakeTurns) {
  size_t left = opsLeft(Stack(24, /*period=*/2).problem);
  EXPECT_NEAR(left, opsLeft(Stack(48, /*period=*/2).problem), left / 20.0);
  EXPECT_LE(left, Stack(10, 2).problem.ops.size());
}

TEST(Fold, StandInsAreOpsOfTheSameRule) {
  AssignmentProblem problem = Stack(16).problem;
  std::optional<FoldedProblem> folded = foldRepeats(problem);
  ASSERT_TRUE(folded);
  for (const auto *standIns :
       {&folded->before, &folded->behind, &folded->nearest}) {
    ASSERT_EQ(standIns->size(), problem.ops.size());
    for (auto [op, standIn] : llvm::zip_equal(problem.ops, *standIns)) {
      const AssignmentProblem::Op &other = folded->problem.ops[standIn];
      EXPECT_EQ(op.label, other.label);
      ASSERT_EQ(op.operands.size(), other.operands.size());
      for (auto [value, otherValue] :
           llvm::zip_equal(op.operands, other.operands))
        EXPECT_EQ(problem.values[value].shape,
                  folded->problem.values[otherValue].shape);
    }
  }
}

TEST(Fold, OperandsAreMadeBeforeTheyAreRead) {
  std::optional<FoldedProblem> folded = foldRepeats(Stack(16).problem);
  ASSERT_TRUE(folded);
  std::vector<bool> isMade(folded->problem.values.size());
  for (const AssignmentProblem::Op &op : folded->problem.ops) {
    for (unsigned value : op.operands)
      EXPECT_TRUE(isMade[value]);
    for (unsigned value : op.results)
      isMade[value] = true;
  }
}

/// With layers searched once, over with each on its own.
double costRatio(const AssignmentProblem &problem) {
  AssignmentOptions options;
  double folded = assignChecked(problem, options).cost.total();
  options.foldRepeats = false;
  return folded / assignChecked(problem, options).cost.total();
}

TEST(Fold, PlansAreAsCheap) {
  for (int layers : {6, 12, 25})
    for (int period : {1, 2})
      EXPECT_LE(costRatio(Stack(layers, period).problem), 1 + 1e-9)
          << layers << " layers, period " << period;
}

TEST(Fold, LittleEffortGoesNoFurtherThanItSays) {
  AssignmentProblem problem = Stack(12).problem;
  for (SearchEffort effort : {SearchEffort::Greedy, SearchEffort::Descent}) {
    AssignmentOptions options;
    options.effort = effort;
    double folded = assignChecked(problem, options).cost.total();
    options.foldRepeats = false;
    EXPECT_EQ(folded, assignChecked(problem, options).cost.total());
  }
}

/// Each layer adds a table, which lies split along "x", to a value that is
/// whole: either the table is gathered, once for all layers, or each layer
/// splits its value and gathers the sum.
AssignmentProblem layersWithTable(int layers) {
  ProgramBuilder b(makeMesh({{"x", 4}}));
  unsigned table = b.argument({4096}, closed({{0}}));
  unsigned x = b.argument({512}, closed({{}}));
  for (int i = 0; i < layers; ++i) {
    unsigned mixed = b.einsum("D,E->D", {x, table});
    unsigned w = b.argument({512, 512}, closed({{}, {}}));
    x = b.elementwise({b.einsum("D,DE->E", {mixed, w})},
                      ProgramBuilder::Nonlinear);
  }
  b.result(x, closed({{}}));
  return b.problem;
}

TEST(Fold, WhatAllLayersShareIsSharedByAsManyAsThereAre) {
  AssignmentProblem problem = layersWithTable(32);
  std::optional<FoldedProblem> folded = foldRepeats(problem);
  ASSERT_TRUE(folded);
  double least = 1;
  for (const auto &value : folded->problem.values)
    least = std::min(least, value.weight);
  // Of 32 readers four or five are left.
  EXPECT_LE(least, 5.0 / 32);
  EXPECT_GE(least, 4.0 / 32);
  for (int layers : {6, 12, 32})
    EXPECT_LE(costRatio(layersWithTable(layers)), 1 + 1e-9) << layers;
}

} // namespace
