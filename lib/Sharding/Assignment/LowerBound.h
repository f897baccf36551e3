// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What no plan costs less than: how far a plan may be from the best one.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_LOWERBOUND_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_LOWERBOUND_H

#include "Plan.h"

namespace shoal::assignment {

/// Takes a plan that the bound suggests, returns what the cheapest known plan
/// costs then.
using TryPlan = llvm::function_ref<double(const std::vector<ChoiceIndex> &)>;

struct BoundEffort {
  unsigned maxSweeps = 400;
  /// Up to this sweep each look at the bound tries a plan.
  unsigned alwaysTried = 0;
  /// The share of what is known that a plan must cost less: the search ends
  /// where none does.
  double leastGain = 0;
  /// Of what is known, the gap from which on plans between are guessed.
  double leastGuessed = 1;
  /// How often plans are split into those with a choice and those without, and
  /// how many choices may be left in all that are split, together.
  unsigned maxSplits = 0;
  size_t maxSplitChoices = 30000;
};

/// The linear relaxation's dual, by sequential reweighted message passing
/// (Kolmogorov, "A new look at reweighted message passing", 2015) between ops
/// and the versions of values (VersionCosts.h). Choices with which any plan
/// costs more than `known`, what a plan costs, are left out on the way. On a
/// tree of ops the bound is the optimum: there this is elimination. It ends
/// where the bound is as much as what is known, less what a plan must gain, or
/// gains nothing itself; then branch and bound closes what the relaxation
/// leaves open. No plan costs less than what is returned: nothing where an op
/// has more than 65,536 choices.
std::optional<double> findLowerBound(CostTables &tables, double known,
                                     const BoundEffort &effort,
                                     TryPlan tryPlan);

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_LOWERBOUND_H
