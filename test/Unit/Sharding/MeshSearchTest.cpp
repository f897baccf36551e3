// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Meshes and shardings within a memory, against exhaustive enumeration.

#include "shoal/Sharding/MeshSearch.h"
#include "AllPlans.h"
#include <cmath>
#include <gmock/gmock.h>

using namespace shoal;
using namespace shoal::assignment;
using namespace shoal::testing;
using ::testing::ElementsAre;

namespace {

using Shape = llvm::SmallVector<int64_t>;

TEST(MeshSearch, devices_are_cut_in_all_ways_of_few_axes_first) {
  EXPECT_THAT(listMeshShapes(12, 2),
              ElementsAre(Shape{12}, Shape{2, 6}, Shape{3, 4}, Shape{4, 3},
                          Shape{6, 2}));
  EXPECT_EQ(listMeshShapes(64, 2).size(), 6u);
  EXPECT_EQ(listMeshShapes(64, 3).size(), 16u);
  EXPECT_THAT(listMeshShapes(7, 3), ElementsAre(Shape{7}));
  EXPECT_THAT(listMeshShapes(1, 3), ElementsAre(Shape{1}));
}

/// A program of which nothing is annotated, whose work is worth splitting.
AssignmentProblem freeProgram(std::mt19937 &random) {
  AssignmentProblem problem = randomProgram(random, meshOfShape({4}));
  for (AssignmentProblem::Op &op : problem.ops)
    if (op.constraint) {
      op.constraint.reset();
      op.isHeld = true;
    }
  return problem;
}

MeshSearchOptions optionsOf(std::optional<double> memory) {
  MeshSearchOptions options;
  options.assignment.repeatMargin = 1;
  options.assignment.flopsPerByte = 4;
  options.assignment.pricePlans = true;
  options.memory = memory;
  return options;
}

/// What a plan costs, and what a device holds by it.
struct Held {
  double cost, bytes;
};

/// Of all plans over the problem's mesh.
std::vector<Held> listAll(const AssignmentProblem &problem) {
  AssignmentOptions priced = optionsOf(std::nullopt).assignment;
  constexpr double kWeight = 1e-6;
  priced.heldWeight = kWeight;
  CostTables tables(problem, priced, preferredAxisOrder(problem));
  std::vector<Held> all;
  forAllPlans(tables, [&](const Plan &plan) {
    double held = 0;
    for (unsigned op = 0; op < problem.ops.size(); ++op)
      held += plan.resolved(op).held;
    all.push_back({plan.totalCost() - held, held / kWeight});
  });
  return all;
}

/// The cheapest that holds at most so many bytes.
Held bestWithin(llvm::ArrayRef<Held> all, double memory) {
  Held best{std::numeric_limits<double>::infinity(), 0};
  for (const Held &plan : all)
    if (plan.bytes <= memory + 0.5 && plan.cost < best.cost)
      best = plan;
  return best;
}

/// Bounds hold, what is found fits, and it is the best one nearly always.
TEST(MeshSearch, finds_the_best_of_all_plans_within_a_memory) {
  std::mt19937 random(5);
  constexpr int kPrograms = 24;
  int possible = 0, found = 0, equal = 0;
  double sumFound = 0, sumBest = 0;
  for (int i = 0; i < kPrograms; ++i) {
    AssignmentProblem problem = freeProgram(random);
    std::vector<Held> all = listAll(problem);
    double free = bestWithin(all, 1e18).bytes;
    for (double share : {1.0, 0.9, 0.75, 0.6}) {
      Held best = bestWithin(all, share * free);
      possible += std::isfinite(best.cost);
      MeshSearchOptions options = optionsOf(share * free);
      std::vector<MeshPlan> plans =
          searchMeshes(problem, problem.mesh, options);
      if (plans.empty())
        continue;
      ASSERT_LE(plans[0].heldBytes, *options.memory);
      ASSERT_GE(plans[0].cost, best.cost - 1e-6);
      ASSERT_TRUE(plans[0].leastCost);
      EXPECT_LE(*plans[0].leastCost, best.cost * (1 + 1e-9)) << i;
      ++found;
      equal += plans[0].cost <= best.cost * (1 + 1e-6);
      sumFound += plans[0].cost;
      sumBest += best.cost;
    }
  }
  EXPECT_EQ(found, possible);
  EXPECT_GE(equal, found * 9 / 10);
  EXPECT_LE(sumFound, 1.02 * sumBest);
}

/// Two axes in place of one have all plans of that one, and more.
TEST(MeshSearch, three_axes_cost_no_more_than_two_of_which_they_are_parts) {
  std::mt19937 random(3);
  std::vector<Mesh> meshes = {meshOfShape({8}), meshOfShape({2, 4}),
                              meshOfShape({4, 2}), meshOfShape({2, 2, 2})};
  for (int i = 0; i < 40; ++i) {
    llvm::SmallVector<double> ofTwo;
    double ofThree = 0;
    for (const MeshPlan &plan :
         searchMeshes(freeProgram(random), meshes, optionsOf(std::nullopt)))
      if (plan.mesh.axes.size() == 3)
        ofThree = plan.cost;
      else if (plan.mesh.axes.size() == 2)
        ofTwo.push_back(plan.cost);
    ASSERT_EQ(ofTwo.size(), 2u);
    double best = *llvm::min_element(ofTwo);
    EXPECT_LE(ofThree, best * (1 + 1e-3)) << "program " << i;
  }
}

} // namespace
