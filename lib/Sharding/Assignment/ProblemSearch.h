// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_PROBLEMSEARCH_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_PROBLEMSEARCH_H

#include "Fold.h"
#include "LowerBound.h"
#include "Moves.h"
#include "WholeAxes.h"

namespace shoal::assignment {

/// The search of one problem, in canonical order.
class ProblemSearch {
public:
  /// `without`: sources of moves and starts to leave out, by name; `known`: a
  /// plan where the search begins in place of its starts, or nothing.
  ProblemSearch(const AssignmentProblem &given,
                const AssignmentOptions &options,
                llvm::ArrayRef<llvm::StringRef> without = {},
                std::vector<FactorSharding> known = {});
  Assignment run();
  /// Searches on from the plan's bound.
  Assignment certifyFrom(llvm::ArrayRef<FactorSharding> start);
  Assignment improveFrom(llvm::ArrayRef<FactorSharding> start,
                         llvm::ArrayRef<unsigned> changed, bool areCopies);

private:
  using Choices = std::vector<ChoiceIndex>;
  /// Where the search begins.
  struct Start {
    const char *name;
    /// Nothing where it would not help the best plan so far.
    std::optional<Choices> (ProblemSearch::*choose)(const Plan *best);
    /// Of chains.
    double AssignmentOptions::*slack;
    SearchEffort least;
  };
  static const Start kStarts[4], kStartsOfCutAxes[2];

  bool isLeftOut(llvm::StringRef name) const;
  std::vector<FoundMoves> findOwnMoves() const;
  std::optional<Choices> chooseByHints(const Plan *best);
  std::optional<Choices> chooseNothing(const Plan *best);
  std::optional<Choices> chooseDearArithmetic(const Plan *best);
  std::optional<Choices> chooseBindingHints(const Plan *best);
  std::optional<Choices> chooseWholeAxes(const Plan *best);
  std::optional<Choices> chooseHintsOfCutAxes(const Plan *best);
  Plan searchFrom(llvm::ArrayRef<Start> starts,
                  llvm::ArrayRef<FoundMoves> tried);
  Plan searchFromKnown();
  Plan searchNarrow();
  Plan searchWhole();
  Plan unfold(const Plan &found, llvm::ArrayRef<unsigned> standIns);
  Plan searchFolded(const FoldedProblem &folded);
  Plan search();
  bool isNarrow();
  bool isSmall();
  bool isBounded();
  std::optional<double> searchByBound(Plan &plan, const BoundEffort &effort);
  void improve(Plan &plan, double slack, llvm::ArrayRef<FoundMoves> tried);
  Assignment settled(Plan plan, std::optional<double> bound);

  const AssignmentProblem &given;
  const AssignmentOptions &options;
  llvm::ArrayRef<llvm::StringRef> without;
  /// A plan where the search begins in place of its starts, or nothing.
  std::vector<FactorSharding> known;
  Hints hints;
  /// All of its annotations bind: those that only ask are in the hints.
  AssignmentProblem problem;
  CostTables tables;
  std::vector<FoundMoves> moves;
  /// Where some of the problem's are cut.
  std::optional<WholeAxes> wholeAxes;
  /// Whether those were searched with a bound of seconds.
  bool isWholeBounded = false;
};

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_PROBLEMSEARCH_H
