// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The state of the search: one choice per op, and what it costs.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_PLAN_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_PLAN_H

#include "CostTables.h"

namespace shoal::assignment {

/// How a value gets from the layout its op makes to those that its users need:
/// parents before children, the made one first.
struct VersionTree {
  struct Node {
    LayoutId layout;
    unsigned parent;
  };
  llvm::SmallVector<Node, 4> nodes;
  double cost = 0;
};

/// The cheapest tree that the order of attaching allows: every order is tried
/// for up to three needed layouts, beyond that the nearest goes first.
VersionTree findVersionTree(CostTables &tables, unsigned value, LayoutId made,
                            llvm::ArrayRef<LayoutId> needed);

/// All that the price of a value depends on: its type, the layout it is made in
/// and those that are needed. Of how many operands need a layout it says as
/// much as decides whether one op alone can change that it is needed.
using StateId = unsigned;

/// A complete assignment. Every move keeps it complete and legal.
class Plan {
public:
  /// Starts from `choices`, each of which must be allowed.
  Plan(CostTables &tables, std::vector<ChoiceIndex> choices);

  CostTables &getTables() const { return *tables; }

  ChoiceIndex choiceOf(unsigned op) const { return choices[op]; }
  const Choice &resolved(unsigned op) const { return *current[op]; }
  double totalCost() const;
  double valueCost(unsigned value) const { return values[value].cost; }
  VersionTree versionTree(unsigned value) const;

  /// By how much the total cost changes if `op` takes `index`; nothing where
  /// its rule does not allow that.
  std::optional<double> costChange(unsigned op, ChoiceIndex index);
  void move(unsigned op, ChoiceIndex index);

  StateId stateOf(unsigned value) const { return values[value].state; }
  /// Moves so far, and how many there were when the value's state changed last.
  uint64_t now() const { return numMoves; }
  uint64_t changedAt(unsigned value) const { return values[value].changedAt; }

  /// The distinct operands and results of an op.
  llvm::ArrayRef<unsigned> valuesOf(unsigned op) const { return touched[op]; }
  /// The op that makes a value, then its users, each once.
  llvm::ArrayRef<unsigned> opsOf(unsigned value) const {
    return neighbours[value];
  }
  /// Of those, where there are more than `limit`, the ones next to `op`, which
  /// is one of them, in the order of ops.
  llvm::ArrayRef<unsigned> opsNear(unsigned value, unsigned op,
                                   size_t limit) const;

private:
  struct ValueState {
    LayoutId made = 0;
    /// Layouts that users need, ascending, and how many operands do.
    llvm::SmallVector<std::pair<LayoutId, unsigned>, 2> needed;
    /// One more than an op has operands of it, at most.
    unsigned mostCounted = 1;
    StateId state = 0;
    uint64_t changedAt = 0;
    double cost = 0;
  };

  void apply(unsigned op, const Choice &from, const Choice &to);
  void addUse(unsigned value, LayoutId layout, int count);
  /// The layouts needed other than the made one.
  llvm::SmallVector<LayoutId, 4> othersNeeded(unsigned value) const;
  double computeCost(unsigned value) const;
  void updateState(unsigned value);

  CostTables *tables;
  std::vector<ChoiceIndex> choices;
  std::vector<const Choice *> current;
  std::vector<ValueState> values;
  std::vector<llvm::SmallVector<unsigned, 4>> touched, neighbours;
  uint64_t numMoves = 0;
  llvm::StringMap<StateId> stateIds;
  /// By state.
  std::vector<double> stateCosts;
};

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_PLAN_H
