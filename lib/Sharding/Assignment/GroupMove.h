// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Moves of many ops as one.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_GROUPMOVE_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_GROUPMOVE_H

#include "Plan.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace shoal::assignment {

/// The choice that differs from the op's on the axis alone, and has it there on
/// the result; nothing where the op has none.
std::optional<ChoiceIndex> findChoiceAt(Plan &plan, unsigned op, AxisId axis,
                                        int location);

/// Elements of a value.
int64_t numElements(const AssignmentProblem &problem, unsigned value);

/// Which op makes each value, and which read it.
struct ValueOps {
  explicit ValueOps(const AssignmentProblem &problem);

  std::vector<unsigned> makerOf;
  std::vector<llvm::SmallVector<unsigned, 4>> usersOf;
};

/// One group and what is tried with it.
class GroupMove {
public:
  GroupMove(Plan &plan, llvm::ArrayRef<unsigned> group)
      : plan(plan), group(group), trial(plan) {}
  /// Whether one of the group's values is sent; else no move gains.
  bool couldGain() const;
  /// Returns the gain of the wanted choices, by place in the group; 0, and
  /// nothing is changed, where they gain nothing. What `want` says may depend
  /// on the situations of the group's ops alone: `id` is not tried again while
  /// these are as they were when it gained nothing.
  double run(const TryId &id,
             llvm::function_ref<std::optional<ChoiceIndex>(size_t)> want);

private:
  void move(unsigned op, ChoiceIndex index);
  void descend();

  Plan &plan;
  llvm::ArrayRef<unsigned> group;
  Trial trial;
  double change = 0;
};

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_GROUPMOVE_H
