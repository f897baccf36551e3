// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Problems with annotations that only ask, and the same with none of them, or
// with all of them binding.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_ASKINGPROBLEM_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_ASKINGPROBLEM_H

#include "Plan.h"

namespace shoal::assignment {

/// Whether the op is an annotation that only asks.
bool isHint(const AssignmentProblem::Op &op);

/// The problem whose annotations all bind: those that only ask are in the hints
/// already.
AssignmentProblem withoutHints(const AssignmentProblem &problem);

/// The problem whose annotations bind, also those that only ask.
AssignmentProblem withBindingHints(const AssignmentProblem &problem);

/// Whether values lie as annotations that only ask would have them, and no axis
/// that these do not name splits them or leaves partial sums.
bool followsHints(const Plan &plan, const AssignmentProblem &given);

/// For each op of `tables` what its stand-in chose in `plan`, as far as the op
/// has the labels; the first choice where the rule does not allow it.
std::vector<ChoiceIndex> copyChoices(CostTables &tables, const Plan &plan,
                                     llvm::ArrayRef<unsigned> standIns);

/// For each op of `tables` the choice that splits it so, as far as it has one;
/// the first where the rule does not allow it.
std::vector<ChoiceIndex> findChoices(CostTables &tables,
                                     llvm::ArrayRef<FactorSharding> shardings);

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_ASKINGPROBLEM_H
