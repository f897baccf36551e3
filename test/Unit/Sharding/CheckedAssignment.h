// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An assignment that is counted again.

#ifndef SHOAL_TEST_UNIT_SHARDING_CHECKEDASSIGNMENT_H
#define SHOAL_TEST_UNIT_SHARDING_CHECKEDASSIGNMENT_H

#include "shoal/Sharding/Assignment.h"
#include "shoal/Sharding/ReshardCost.h"
#include <gtest/gtest.h>

namespace shoal::testing {

/// What the annotation or, without one, the rule makes of an op's choice.
inline std::optional<OpShardings> shardingsOf(const AssignmentProblem::Op &op,
                                              const FactorSharding &choice,
                                              const Mesh &mesh) {
  if (!op.constraint)
    return applyChoice(op.rule, choice, mesh);
  Sharding sharding;
  sharding.dims.assign(choice.axes.begin(), choice.axes.end());
  OpShardings shardings;
  shardings.operands.assign(op.operands.size(), sharding);
  shardings.results.assign(op.results.size(), sharding);
  return shardings;
}

inline void expectConstraintHolds(const AssignmentProblem::Op &op,
                                  const FactorSharding &choice) {
  for (auto [asked, axes] : llvm::zip_equal(op.constraint->dims, choice.axes)) {
    ASSERT_GE(axes.size(), asked.axes.size());
    EXPECT_EQ(llvm::ArrayRef(axes).take_front(asked.axes.size()),
              llvm::ArrayRef(asked.axes));
    if (!asked.open)
      EXPECT_EQ(axes, asked.axes);
    for (AxisId axis : op.constraint->replicated)
      EXPECT_FALSE(llvm::is_contained(axes, axis));
  }
  EXPECT_TRUE(choice.passes.empty());
}

/// Recounts an assignment from the public functions alone: each op's choice
/// is legal, makes and reads the versions it says, and the bytes add up.
inline void expectConsistent(const AssignmentProblem &problem,
                             const Assignment &assignment) {
  ASSERT_EQ(assignment.ops.size(), problem.ops.size());
  for (auto [id, op] : llvm::enumerate(problem.ops)) {
    SCOPED_TRACE("op " + std::to_string(id));
    if (op.constraint)
      expectConstraintHolds(op, assignment.ops[id]);
    auto shardings = shardingsOf(op, assignment.ops[id], problem.mesh);
    ASSERT_TRUE(shardings);
    for (auto [value, sharding] :
         llvm::zip_equal(op.results, shardings->results))
      EXPECT_EQ(assignment.values[value][0].sharding, sharding);
    for (auto [i, value] : llvm::enumerate(op.operands))
      EXPECT_EQ(assignment.values[value][assignment.uses[id][i]].sharding,
                shardings->operands[i]);
    if (op.operands.empty() || op.results.empty())
      for (llvm::ArrayRef<Sharding> list :
           {llvm::ArrayRef<Sharding>(shardings->operands),
            llvm::ArrayRef<Sharding>(shardings->results)})
        for (const Sharding &sharding : list)
          EXPECT_FALSE(sharding.isPartial());
  }
  double bytes = 0;
  for (auto [value, versions] : llvm::enumerate(assignment.values))
    for (auto [i, version] : llvm::enumerate(versions)) {
      EXPECT_EQ(version.parent.has_value(), i > 0);
      if (!version.parent)
        continue;
      ASSERT_LT(*version.parent, i);
      for (AxisId axis : version.sharding.partial)
        for (const AxisList &dim : versions[*version.parent].sharding.dims)
          EXPECT_FALSE(llvm::is_contained(dim, axis))
              << "a split value becomes no partial sum";
      bytes += reshardBytes(
          problem.values[value].shape, problem.values[value].elementBytes,
          versions[*version.parent].sharding, version.sharding, problem.mesh,
          versions[*version.parent].deviceOrder != version.deviceOrder);
    }
  EXPECT_DOUBLE_EQ(bytes, assignment.cost.reshards);
}

inline Assignment assignChecked(const AssignmentProblem &problem,
                                const AssignmentOptions &options = {}) {
  Assignment assignment = assignShardings(problem, options);
  expectConsistent(problem, assignment);
  return assignment;
}

} // namespace shoal::testing

#endif // SHOAL_TEST_UNIT_SHARDING_CHECKEDASSIGNMENT_H
