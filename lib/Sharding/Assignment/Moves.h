// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Moves of many ops as one. What is moved is data, found once in a problem by
// the sources; how, is the same for all.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_MOVES_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_MOVES_H

#include "Plan.h"
#include "ValueOps.h"

namespace shoal::assignment {

/// What an axis is to do for an op.
struct Want {
  static Want at(int location) { return {location, {}}; }
  static Want label(llvm::SmallVector<Label, 1> labels) {
    return {std::nullopt, std::move(labels)};
  }

  /// Where it is to be on the op's first result; or
  std::optional<int> location;
  /// one of these labels.
  llvm::SmallVector<Label, 1> labels;
};

/// Ops that move together, along any one axis.
struct Move {
  std::vector<unsigned> ops;
  /// For each op what it is to do: the cheapest choice that grants the first
  /// want, where its rule allows none the second, and so on. An op without
  /// wants goes where it is best once the others have moved.
  std::vector<llvm::SmallVector<Want, 1>> wants;
};

/// Elementwise ops that hang together by values of their own shape, as the
/// update of a parameter by an optimiser, to each place of a result. No chain
/// finds these that first has to gather one value to save several gathers at
/// its end: it gives up for what it loses.
std::vector<Move> findElementwiseMoves(const AssignmentProblem &problem);

/// Of each array that a loop writes rows of, as what it keeps for the way back:
/// the rows are whole along an axis that splits them, and what reads them goes
/// where it is best then. What a loop has gathered is kept, and not gathered
/// again on the way back, which takes all of them.
std::vector<Move> findKeptRowMoves(const AssignmentProblem &problem);

/// Of each class of dimensions that factors of ops connect: all ops split
/// theirs, and behind a sum over it pass partial sums on as far as they are
/// linear. No chain gets through where half of a large program splits one
/// dimension and half another.
std::vector<Move> findDimensionMoves(const AssignmentProblem &problem);

/// The moves of one source, in one problem.
struct FoundMoves {
  llvm::StringRef name;
  /// From 1 on.
  unsigned source;
  std::vector<Move> moves;
};
/// Those of all sources, first of those that move few ops.
std::vector<FoundMoves> findMoves(const AssignmentProblem &problem);

/// Tries each move along each axis: all its ops at once, then each op to what
/// is best beside the others; kept where that gains. Returns what is gained.
double tryMoves(Plan &plan, const FoundMoves &found);

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_MOVES_H
