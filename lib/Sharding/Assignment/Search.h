// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The phases of the search, each of which may run alone.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_SEARCH_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_SEARCH_H

#include "Plan.h"

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

/// Forces one label of one op and lets neighbours follow on that axis while
/// that may pay; keeps the best prefix of such a chain. Finds what no single
/// change gains, as each alone would pay a reshard on either side.
void moveChains(Plan &plan, double slack);

/// The elementwise ops of more than one that hang together by values of their
/// own shape, in the order of ops: the update of a parameter by an optimiser is
/// one.
std::vector<std::vector<unsigned>>
findElementwiseGroups(const AssignmentProblem &problem);

/// Moves groups as one: for each axis and each place on their results, all of a
/// group at once, then each op to what is best beside the others; kept where it
/// gains. Finds what no chain does, as a chain that first has to gather one
/// value, to save several gathers at its end, gives up for what it loses.
/// Returns what is gained.
double moveGroups(Plan &plan, llvm::ArrayRef<std::vector<unsigned>> groups);

/// Of each loop that adds to a value it carries: the op that joins the value
/// around the loop, those that add to it and those that it begins with, in the
/// order of ops.
std::vector<std::vector<unsigned>>
findAccumulators(const AssignmentProblem &problem);

/// Moves the accumulators of loops as one: each stays a partial sum all around
/// its loop, and is reduced behind it, where it was in every turn. Finds what
/// no single change gains, as a sum that only the addition or only the join
/// leaves partial is reduced next to it. Returns what is gained.
double moveAccumulators(Plan &plan,
                        llvm::ArrayRef<std::vector<unsigned>> groups);

/// An array that a loop writes rows of, as what it keeps for the way back.
struct KeptRows {
  /// The op that joins the array around the loop, the one that writes rows,
  /// those that it begins with, those that read rows, and the reshapes of rows
  /// before and behind; from numRows on the ops that read those.
  std::vector<unsigned> ops;
  unsigned numRows = 0;
};

/// In the order of the ops that write.
std::vector<KeptRows> findKeptRows(const AssignmentProblem &problem);

/// Moves kept rows as one: for each axis, rows that it splits are whole along
/// it, and what reads them goes where it is best then; kept where it gains.
/// Finds that what a loop has gathered is kept and not gathered again on the
/// way back, which takes all of them. Returns what is gained.
double moveKeptRows(Plan &plan, llvm::ArrayRef<KeptRows> groups);

/// A set in which the op is linear and that has the value wherever the op reads
/// it; nothing where the op needs it whole.
std::optional<unsigned> findLinearSet(const AssignmentProblem::Op &op,
                                      unsigned value);

/// The ops that have dimensions of one class or, behind a sum over one, pass
/// partial sums on, ascending, and the labels by which an axis does that.
struct DimensionGroup {
  std::vector<unsigned> ops;
  std::vector<llvm::SmallVector<Label, 1>> labels;
};

/// Two dimensions are of one class where factors of ops connect them. The
/// groups of more than one op, in the order of their first ops.
std::vector<DimensionGroup>
findDimensionGroups(const AssignmentProblem &problem);

/// Moves dimensions as one: for each group and each axis, all ops split their
/// dimension of the class over the axis, sums over it stay partial as far as
/// ops are linear, then each op goes where it is best beside the others; kept
/// where it gains. Finds what no chain does where half of a large program
/// splits one dimension and half another. Returns what is gained.
double moveDimensions(Plan &plan, llvm::ArrayRef<DimensionGroup> groups);

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_SEARCH_H
