// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What ops may choose, without what no cheap plan does.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_OPCHOICES_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_OPCHOICES_H

#include "VersionCosts.h"
#include <memory>

namespace shoal::assignment {

/// The values of an op's edges, its results behind its operands, and by operand
/// and result which edge it is on.
struct EdgesOf {
  explicit EdgesOf(const AssignmentProblem::Op &op);

  llvm::SmallVector<unsigned, 4> values, edgeOf;
  size_t numOperands = 0;
};

/// Layouts on all edges of an op, as numbers in OpChoices::layouts, and the
/// cheapest choice that has them.
struct OpOption {
  llvm::SmallVector<uint16_t, 4> layouts;
  double cost;
  ChoiceIndex choice;
};

/// What an op may choose; shared by ops that are alike.
struct OpChoices {
  explicit OpChoices(size_t numEdges)
      : layouts(numEdges), places(numEdges), columns(numEdges) {}
  void add(const Choice &choice, ChoiceIndex index, const EdgesOf &edges);
  /// Once all are added.
  std::shared_ptr<const OpChoices> finish() &&;

  std::vector<OpOption> options;
  /// By edge.
  std::vector<std::vector<NeededLayouts>> layouts;
  /// Of choices that were more: the places of the layouts among those.
  std::vector<std::vector<uint16_t>> places;
  /// The same as OpOption::layouts, by edge: what sweeps go through.
  std::vector<std::vector<uint16_t>> columns;
};

/// By op.
using AllChoices = std::vector<std::shared_ptr<const OpChoices>>;

/// All that ops may choose, nothing where one may choose too much; without what
/// alone costs more than is left of `known` where all other ops cost their
/// least.
std::optional<AllChoices> allChoicesWithin(CostTables &tables, double known);

/// With nothing but what is kept of the choices of one op; the same where that
/// is all.
std::shared_ptr<const OpChoices>
keepChoices(const std::shared_ptr<const OpChoices> &choices,
            llvm::function_ref<bool(size_t)> isKept);

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_OPCHOICES_H
