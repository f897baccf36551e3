// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Bounds against exhaustive enumeration.

#include "Sharding/Assignment/LowerBound.h"
#include "AllPlans.h"
#include "MoeProgram.h"
#include <gmock/gmock.h>

using namespace shoal;
using namespace shoal::assignment;
using namespace shoal::testing;

namespace {

constexpr BoundEffort kEffort;
const AssignmentOptions kOptions;

/// As what is known is dearer than any plan, nothing is left out for it.
double boundOf(CostTables &tables, double known = 1e12,
               std::vector<ChoiceIndex> *tried = nullptr) {
  std::optional<double> bound =
      findLowerBound(tables, known, kEffort, [&](const auto &choices) {
        if (tried)
          *tried = choices;
        return known;
      });
  EXPECT_TRUE(bound);
  return bound.value_or(0);
}

TEST(LowerBound, is_the_optimum_of_a_chain) {
  ProgramBuilder b(makeMesh({{"x", 2}, {"y", 2}}));
  unsigned h = b.argument({64, 16}, closed({{0}, {1}}));
  for (int layer = 0; layer < 3; ++layer) {
    h = b.einsum("IK,KJ->IJ", {h, b.argument({16, 16}, closed({{}, {}}))});
    h = b.elementwise({h}, ProgramBuilder::Nonlinear);
  }
  b.result(h, closed({{}, {0}}));
  AssignmentOptions options;
  options.repeatMargin = 1;
  CostTables tables(b.problem, options, {0, 1});
  double best = assignShardings(b.problem, options).cost.total();
  std::vector<ChoiceIndex> tried;
  EXPECT_NEAR(boundOf(tables, 1e12, &tried), best, 1e-6 * best);
  EXPECT_NEAR(Plan(tables, tried).totalCost(), best, 1e-6 * best);
}

/// Values are read twice there, by one op or several, in layouts that the
/// relaxation may divide.
TEST(LowerBound, is_no_more_than_the_best_of_all_plans_and_mostly_equal) {
  std::mt19937 random(11);
  constexpr int kPrograms = 300;
  int equal = 0;
  double sumBounds = 0, sumBest = 0;
  for (int i = 0; i < kPrograms; ++i) {
    Mesh mesh = i % 8 ? makeMesh({{"x", 4}}) : makeMesh({{"x", 2}, {"y", 2}});
    AssignmentProblem problem = randomProgram(random, mesh);
    AssignmentOptions options;
    options.repeatMargin = 1;
    CostTables tables(problem, options, preferredAxisOrder(problem));
    double best = bestOfAll(tables);
    for (double known : {1e12, best}) {
      double bound = boundOf(tables, known);
      EXPECT_LE(bound, best * (1 + 1e-9) + 1e-6) << "program " << i;
      if (known != best)
        continue;
      sumBounds += bound;
      sumBest += best;
      equal += bound >= best * (1 - 1e-6) - 1e-6;
    }
  }
  EXPECT_GE(equal, kPrograms * 9 / 10);
  EXPECT_GE(sumBounds, sumBest * 0.97);
}

/// Of plans that are known the dearest that the search has: what is guessed in
/// between is a bound only where no plan is below it.
TEST(LowerBound, holds_where_plans_are_guessed) {
  std::mt19937 random(17);
  constexpr BoundEffort kGuessing{.maxSweeps = 4, .leastGuessed = 0};
  for (int i = 0; i < 100; ++i) {
    Mesh mesh = i % 8 ? makeMesh({{"x", 4}}) : makeMesh({{"x", 2}, {"y", 2}});
    AssignmentProblem problem = randomProgram(random, mesh);
    CostTables tables(problem, kOptions, preferredAxisOrder(problem));
    double best = bestOfAll(tables);
    for (double known : {best * 2 + 1, best}) {
      std::optional<double> bound =
          findLowerBound(tables, known, kGuessing, [&](const auto &choices) {
            known = std::min(known, Plan(tables, choices).totalCost());
            return known;
          });
      ASSERT_TRUE(bound);
      EXPECT_LE(*bound, best * (1 + 1e-9) + 1e-6) << "program " << i;
    }
  }
}

/// Plans that gain less are left out, and what is told stays below all others.
TEST(LowerBound, holds_where_little_gain_is_not_looked_for) {
  std::mt19937 random(23);
  constexpr BoundEffort kGaining{.leastGain = 0.1, .maxSplits = 20};
  AssignmentOptions options;
  options.pricePlans = true;
  options.latencyBytes = 100;
  for (int i = 0; i < 100; ++i) {
    Mesh mesh = i % 8 ? makeMesh({{"x", 4}}) : makeMesh({{"x", 2}, {"y", 2}});
    AssignmentProblem problem = randomProgram(random, mesh);
    CostTables tables(problem, options, preferredAxisOrder(problem));
    double best = bestOfAll(tables);
    for (double known : {best * 2, best * 1.05}) {
      std::optional<double> bound = findLowerBound(
          tables, known, kGaining, [&](const auto &) { return known; });
      ASSERT_TRUE(bound);
      EXPECT_LE(*bound, best * (1 + 1e-9) + 1e-6) << "program " << i;
    }
  }
}

TEST(LowerBound, is_said_of_a_plan_that_is_known) {
  MoeProgram moe(MoeLayout::single(8), MoeAnnotations::Min);
  AssignmentOptions options;
  Assignment found = assignShardings(moe.problem, options);
  options.certify = true;
  Assignment searched = assignShardings(moe.problem, options);
  Assignment certified = certifyShardings(moe.problem, found.ops, options);
  ASSERT_TRUE(certified.lowerBound);
  EXPECT_LE(certified.cost.total(), found.cost.total());
  EXPECT_LE(*certified.lowerBound, certified.cost.total());
  EXPECT_GE(*certified.lowerBound, 0.99 * *searched.lowerBound);
}

TEST(LowerBound, of_plans_that_cost_too_much_ends_the_search) {
  MoeProgram moe(MoeLayout::single(8), MoeAnnotations::Min);
  AssignmentOptions options;
  options.certify = true;
  Assignment found = assignShardings(moe.problem, options);
  options.mostCost = found.cost.total() / 2;
  Assignment other = assignShardings(moe.problem, options);
  ASSERT_TRUE(other.lowerBound);
  EXPECT_GE(*other.lowerBound, options.mostCost * (1 - 1e-6));
  EXPECT_LE(*other.lowerBound, found.cost.total());
  EXPECT_GE(other.cost.total(), found.cost.total());
}

TEST(LowerBound, of_layers_with_experts_is_near_their_plans) {
  for (MoeAnnotations annotations : {MoeAnnotations::Full, MoeAnnotations::Min})
    for (const MoeLayout &layout :
         {MoeLayout::single(8), MoeLayout::threeAxes(2, 4, 1)}) {
      MoeProgram moe(layout, annotations);
      Assignment found = assignShardings(moe.problem);
      CostTables tables(moe.problem, kOptions, preferredAxisOrder(moe.problem));
      double cost = found.cost.total();
      EXPECT_THAT(boundOf(tables, cost),
                  ::testing::AllOf(::testing::Le(cost * (1 + 1e-6)),
                                   ::testing::Ge(cost * 0.98)));
    }
}

TEST(LowerBound, is_said_of_what_is_chosen_where_it_is_asked_for) {
  MoeProgram moe(MoeLayout::single(8), MoeAnnotations::Min);
  AssignmentOptions options;
  Assignment found = assignShardings(moe.problem, options);
  options.certify = true;
  Assignment certified = assignShardings(moe.problem, options);
  EXPECT_FALSE(found.lowerBound);
  ASSERT_TRUE(certified.lowerBound);
  EXPECT_LE(certified.cost.total(), found.cost.total());
  EXPECT_LE(*certified.lowerBound, certified.cost.total());
}

/// Of 625 layouts of a value, which are free until fewer are left.
TEST(LowerBound, of_very_many_layouts_is_what_ops_cost) {
  ProgramBuilder b(makeMesh({{"a", 2}, {"b", 2}, {"c", 2}, {"d", 2}}));
  unsigned x = b.argument({64, 64, 64, 64}, closed({{0, 1, 2, 3}, {}, {}, {}}));
  b.result(b.elementwise({x}, ProgramBuilder::Nonlinear),
           closed({{}, {}, {}, {0, 1, 2, 3}}));
  Assignment found = assignShardings(b.problem, kOptions);
  CostTables tables(b.problem, kOptions, preferredAxisOrder(b.problem));
  double bound = boundOf(tables);
  EXPECT_GT(found.cost.reshards, 0);
  EXPECT_LE(bound, found.cost.total());
  EXPECT_GE(bound, (found.cost.compute + found.cost.memory) * (1 - 1e-9));
}

TEST(LowerBound, is_none_where_an_op_has_too_many_choices) {
  ProgramBuilder b(makeMesh({{"a", 2},
                             {"b", 2},
                             {"c", 2},
                             {"d", 2},
                             {"e", 2},
                             {"f", 2},
                             {"g", 2},
                             {"h", 2}}));
  unsigned h = b.argument({512, 512, 512, 512});
  b.result(b.elementwise({h}, ProgramBuilder::Nonlinear));
  CostTables tables(b.problem, kOptions, preferredAxisOrder(b.problem));
  EXPECT_FALSE(
      findLowerBound(tables, 1e12, kEffort, [](auto) { return 1e12; }));
}

} // namespace
