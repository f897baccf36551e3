// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What was found of one plan and holds for all plans of the same tables.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_KNOWN_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_KNOWN_H

#include "CostTables.h"
#include "Keys.h"
#include <limits>
#include <map>
#include <tuple>

namespace shoal::assignment {

/// All that the price of a value depends on: its type, the layout it is made in
/// and those that are needed. Of how many operands need a layout it says as
/// much as decides whether one op alone can change that it is needed.
using StateId = unsigned;

/// A state, and how many operands need each layout.
using UseId = unsigned;

/// All that the price of a change of one op depends on: its kind, its choice
/// and the states of its values. Layers are alike, so ops are in few
/// situations, and a search meets most of them from each of its starts.
using SituationId = unsigned;

/// A change of one op, and what it changes the plan's cost by.
struct PricedChange {
  ChoiceIndex index;
  double change;
};

/// What is tried of a plan along an axis: a chain from a label of an op, or one
/// of the moves of a source.
struct TryId {
  /// 0 for chains, else the number of the source.
  unsigned kind;
  /// An op or the number of a move.
  unsigned subject;
  AxisId axis;
  unsigned label = 0;
  auto asTuple() const {
    return std::tuple(kind, subject, unsigned(axis), label);
  }
};

/// A try that gained nothing. It gains nothing of any plan in which the ops
/// that were looked at, and how their values are made and needed, are as they
/// were.
struct FailedTry {
  std::vector<unsigned> ops;
  /// Of their choices and values, by Plan::digestOf.
  uint64_t digest = 0;
  /// Of a chain: what it had lost where it was given up for that; infinite
  /// where it came to its end.
  double lost = std::numeric_limits<double>::infinity();
};

/// What was computed of states and situations, and tried, at one price of
/// arithmetic.
struct KnownCosts {
  /// By state; NaN where it was not computed.
  std::vector<double> ofStates;
  /// Nothing where the op's rule does not allow the choice.
  llvm::DenseMap<std::pair<SituationId, ChoiceIndex>, std::optional<double>>
      changes;
  /// The change that gains most; nothing where none gains.
  llvm::DenseMap<SituationId, std::optional<ChoiceIndex>> best;
  /// By Frontier::keyOf: the cheapest change that grants a wish.
  WordIds asked;
  std::vector<PricedChange> granting;
  /// The last ones.
  llvm::DenseMap<std::tuple<unsigned, unsigned, unsigned, unsigned>,
                 llvm::SmallVector<FailedTry, 1>>
      failures;
};

struct Known {
  /// By how a value is made, and how many operands need it in which layout.
  WordIds uses;
  /// By use.
  std::vector<StateId> stateOfUse;
  WordIds states;
  WordIds situations;
  /// By operations for a byte: a search goes from one price to another and
  /// back.
  std::map<double, KnownCosts> costs;
};

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_KNOWN_H
