// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Shardings are a function of the program, not of the order of its ops.

#include "MoeProgram.h"
#include "shoal/Sharding/CanonicalOrder.h"
#include "shoal/Sharding/Propagation.h"
#include <gtest/gtest.h>
#include <random>

using namespace shoal;
using namespace shoal::testing;

namespace {

/// The ops in any order in which they may stand. The results stay in theirs,
/// which is the program's signature.
std::vector<unsigned> drawOrder(const AssignmentProblem &problem,
                                std::mt19937 &random) {
  std::vector<unsigned> makers(problem.values.size());
  std::vector<unsigned> open, order;
  for (auto [id, op] : llvm::enumerate(problem.ops)) {
    for (unsigned value : op.results)
      makers[value] = id;
    if (!op.results.empty())
      open.push_back(id);
  }
  std::vector<bool> isDone(problem.ops.size());
  while (!open.empty()) {
    std::vector<unsigned> ready;
    for (unsigned op : open)
      if (llvm::all_of(problem.ops[op].operands,
                       [&](unsigned value) { return isDone[makers[value]]; }))
        ready.push_back(op);
    unsigned next = ready[random() % ready.size()];
    isDone[next] = true;
    order.push_back(next);
    std::erase(open, next);
  }
  for (auto [id, op] : llvm::enumerate(problem.ops))
    if (op.results.empty())
      order.push_back(id);
  return order;
}

void expectSameInAnyOrder(const AssignmentProblem &problem, unsigned orders,
                          std::mt19937 &random) {
  Assignment expected = assignShardings(problem);
  Hints expectedHints = propagateHints(problem);
  for (unsigned i = 0; i < orders; ++i) {
    SCOPED_TRACE("order " + std::to_string(i));
    ReorderedProblem shuffled(problem, drawOrder(problem, random));
    Assignment actual = assignShardings(shuffled.problem);
    ASSERT_DOUBLE_EQ(actual.cost.total(), expected.cost.total());
    ASSERT_DOUBLE_EQ(actual.cost.bytes(), expected.cost.bytes());
    Hints hints = propagateHints(shuffled.problem);
    for (auto [id, original] : llvm::enumerate(shuffled.ops))
      ASSERT_EQ(actual.ops[id], expected.ops[original]) << "op " << original;
    for (auto [id, original] : llvm::enumerate(shuffled.values)) {
      ASSERT_EQ(hints.sharding(id), expectedHints.sharding(original));
      ASSERT_EQ(actual.hints.sharding(id), expectedHints.sharding(original));
      ASSERT_EQ(actual.values[id].size(), expected.values[original].size());
      for (auto [a, b] :
           llvm::zip_equal(actual.values[id], expected.values[original])) {
        ASSERT_EQ(a.sharding, b.sharding) << "value " << original;
        ASSERT_EQ(a.parent, b.parent) << "value " << original;
      }
    }
  }
}

TEST(Order, MoeLayersAreShardedTheSameInAnyOrder) {
  std::mt19937 random(1);
  for (const MoeLayout &layout :
       {MoeLayout::single(8), MoeLayout::threeAxes(2, 2, 2),
        MoeLayout::threeAxes(1, 4, 2)})
    for (MoeAnnotations annotations :
         {MoeAnnotations::Full, MoeAnnotations::Min, MoeAnnotations::None})
      expectSameInAnyOrder(MoeProgram(layout, annotations).problem, 4, random);
}

/// Matrix products and elementwise ops of values drawn at random; a few are
/// annotated, and what no one uses is a result.
AssignmentProblem drawProgram(std::mt19937 &random) {
  ProgramBuilder b(makeMesh({{"x", 2}, {"y", 4}}));
  std::vector<unsigned> values;
  std::vector<bool> isUsed;
  auto add = [&](unsigned value) {
    values.push_back(value);
    isUsed.resize(value + 1);
  };
  auto draw = [&]() {
    unsigned value = values[random() % values.size()];
    isUsed[value] = true;
    return value;
  };
  const std::vector<ShardingConstraint> layouts = {
      closed({{0}, {1}}), closed({{1}, {}}), closed({{}, {0, 1}}),
      closed({{}, {}})};
  for (int i = 0; i < 4; ++i)
    add(random() % 2 ? b.argument({16, 16}, layouts[random() % 4])
                     : b.argument({16, 16}));
  for (int i = 0; i < 24; ++i)
    switch (random() % 5) {
    case 0:
      add(b.einsum("IK,KJ->IJ", {draw(), draw()}));
      break;
    case 1:
      add(b.elementwise({draw(), draw()}, ProgramBuilder::Additive));
      break;
    case 2:
      add(b.elementwise({draw(), draw()}, ProgramBuilder::Multiplicative));
      break;
    case 3:
      add(b.constrain(draw(), layouts[random() % 4]));
      break;
    default:
      add(b.elementwise({draw()}, ProgramBuilder::Nonlinear));
    }
  for (unsigned value : values)
    if (!isUsed[value])
      b.result(value);
  return std::move(b.problem);
}

TEST(Order, RandomProgramsAreShardedTheSameInAnyOrder) {
  std::mt19937 random(2);
  for (int i = 0; i < 30; ++i) {
    SCOPED_TRACE("program " + std::to_string(i));
    expectSameInAnyOrder(drawProgram(random), 3, random);
  }
}

} // namespace
