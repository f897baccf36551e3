// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Small random programs, and the best of all of their plans.

#ifndef SHOAL_TEST_UNIT_SHARDING_ALLPLANS_H
#define SHOAL_TEST_UNIT_SHARDING_ALLPLANS_H

#include "ProgramBuilder.h"
#include "Sharding/Assignment/Plan.h"
#include <limits>
#include <random>

namespace shoal::testing {

/// Visits every plan.
inline void
forAllPlans(assignment::CostTables &tables,
            llvm::function_ref<void(const assignment::Plan &)> visit) {
  using namespace assignment;
  size_t numOps = tables.problem.ops.size();
  std::vector<ChoiceIndex> choices(numOps, 0);
  while (true) {
    bool isAllowed = true;
    for (unsigned op = 0; op < numOps; ++op)
      isAllowed &= tables.choice(op, choices[op]) != nullptr;
    if (isAllowed)
      visit(Plan(tables, choices));
    unsigned op = 0;
    while (op < numOps && ++choices[op] == tables.classOf(op).numChoices())
      choices[op++] = 0;
    if (op == numOps)
      return;
  }
}

/// The least total cost of all plans.
inline double bestOfAll(assignment::CostTables &tables) {
  double best = std::numeric_limits<double>::infinity();
  forAllPlans(tables, [&](const assignment::Plan &plan) {
    best = std::min(best, plan.totalCost());
  });
  return best;
}

/// A random program of `numOps` einsums, sums and elementwise ops on matrices.
inline AssignmentProblem randomProgram(std::mt19937 &random, const Mesh &mesh,
                                       unsigned numOps = 3) {
  auto pick = [&](unsigned n) { return unsigned(random() % n); };
  auto anySharding = [&]() {
    ShardingConstraint constraint = closed({{}, {}});
    for (AxisId axis = 0; axis < mesh.axes.size(); ++axis)
      if (unsigned d = pick(3); d < 2)
        constraint.dims[d].axes.push_back(axis);
    return constraint;
  };
  ProgramBuilder b(mesh);
  std::vector<unsigned> values = {b.argument({8, 8}, anySharding()),
                                  b.argument({8, 8}, anySharding())};
  for (unsigned i = 0; i < numOps; ++i) {
    unsigned first = values[pick(values.size())];
    unsigned second = values[pick(values.size())];
    switch (pick(3)) {
    case 0:
      values.push_back(b.einsum("IK,KJ->IJ", {first, second}));
      break;
    case 1:
      values.push_back(
          b.elementwise({first, second}, ProgramBuilder::Additive));
      break;
    default:
      values.push_back(b.elementwise({first}, ProgramBuilder::Nonlinear));
    }
  }
  b.result(values.back(), anySharding());
  return std::move(b.problem);
}

} // namespace shoal::testing

#endif // SHOAL_TEST_UNIT_SHARDING_ALLPLANS_H
