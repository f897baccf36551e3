// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The phases of the search, each of which may run alone.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_SEARCH_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_SEARCH_H

#include "Plan.h"

namespace shoal::assignment {

/// Gains below this are rounding, not improvements.
inline constexpr double kMinGain = 1e-6;

/// A choice per op in program order: the least cost of the op itself, of
/// bringing its operands from any version that exists by then, and of bringing
/// its results to the hint. A sum that the op leaves partial costs half of its
/// reduction: less than reducing now, more than having none.
std::vector<ChoiceIndex> chooseGreedily(CostTables &tables, const Hints &hints);

/// Coordinate descent: single changes of one axis of one op, each the best of
/// its op, in sweeps forward and backward until none gains.
void descend(Plan &plan, unsigned maxSweeps);

/// Forces one label of one op and lets neighbours follow on that axis while
/// that may pay; keeps the best prefix of such a chain. Finds what no single
/// change gains, as each alone would pay a reshard on either side.
void moveChains(Plan &plan, double slack);

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_SEARCH_H
