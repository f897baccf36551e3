// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The phases of the search, each of which may run alone.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_SEARCH_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_SEARCH_H

#include "Moves.h"

namespace shoal::assignment {

/// A choice per op in program order: the least cost of the op itself, of
/// bringing its operands from any version that exists by then, and of bringing
/// its results to the hint. A sum that the op leaves partial costs half of its
/// reduction: less than reducing now, more than having none.
std::vector<ChoiceIndex> chooseGreedily(CostTables &tables, const Hints &hints);

/// Of values that come behind their user, as around a loop or out of a branch,
/// it is not known how they will be made: where one is split over an axis that
/// the user wants a partial sum over, which no reshard makes, the user does
/// without. What is left costs less than kForbidden.
void leaveImpossible(Plan &plan);

/// Coordinate descent: single changes of one axis of one op, each the best of
/// its op, in sweeps forward and backward until none gains.
void descend(Plan &plan, unsigned maxSweeps);

/// Of each of `seeds`, ascending, forces one label and lets neighbours follow
/// on that axis while that may pay; keeps the best prefix of such a chain.
/// Finds what no single change gains, as each alone would pay a reshard on
/// either side.
void moveChains(Plan &plan, double slack, llvm::ArrayRef<unsigned> seeds);
/// From all ops.
void moveChains(Plan &plan, double slack);

/// Of copies the last ones are made as their users need them, those that they
/// read so that these can be, and so on: a whole chain of them, where that
/// costs less.
///
///   %mask = arith.uitofp %pred      made [{"x"}, {}], needed [{}, {"x"}]
///
/// becomes [{}, {"x"}], and so does the copy that makes %pred.
void makeAsNeeded(Plan &plan, llvm::ArrayRef<unsigned> copies);

/// Among equally cheap shardings of a result, the one its value is made in is
/// what a person would expect.
void settleResults(Plan &plan);

/// What the plan says of ops and values, and its costs by part.
Assignment describe(const Plan &plan, Hints hints);

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_SEARCH_H
