// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The state of the search: one choice per op, and what it costs.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_PLAN_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_PLAN_H

#include "Known.h"

namespace shoal::assignment {

/// Gains below this are rounding, not improvements.
inline constexpr double kMinGain = 1e-6;

/// What several changes make together. Some digits are lost on the way through
/// plans that have what no reshard makes (kForbidden): so much is no gain.
class ChangeSum {
public:
  void add(double change) {
    sum += change;
    rounding += std::abs(change) * std::numeric_limits<double>::epsilon();
  }
  double get() const { return sum; }
  bool gains() const { return sum < -kMinGain - rounding; }

private:
  double sum = 0, rounding = 0;
};

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
  /// Of these choices of the op the one that changes the total cost least, the
  /// first of equal ones; nothing where none changes it by less than `below`.
  std::optional<PricedChange>
  findCheapest(unsigned op, llvm::ArrayRef<ChoiceIndex> choices, double below);
  /// The single change of one axis of the op that gains most; nothing where
  /// none gains.
  std::optional<ChoiceIndex> findBestChange(unsigned op);
  void move(unsigned op, ChoiceIndex index);

  /// Whether it is known that this gains nothing, of a chain where it is given
  /// up when it has lost more than `mostLost`.
  bool isFailure(const TryId &id, double mostLost = 0) const;
  /// It gained nothing of this plan, and looked at these ops; `lost` is
  /// FailedTry's.
  void noteFailure(const TryId &id, llvm::ArrayRef<unsigned> ops,
                   double lost = std::numeric_limits<double>::infinity());
  /// A number for what the ops chose and how their values are made and needed:
  /// of 64 bits, so that no two are equal by chance.
  uint64_t digestOf(llvm::ArrayRef<unsigned> ops) const;

  /// The layout that a value is made in, then those in which it is needed,
  /// ascending.
  llvm::SmallVector<LayoutId, 4> layoutsOf(unsigned value) const;
  StateId stateOf(unsigned value) const { return values[value].state; }
  SituationId situationOf(unsigned op);
  /// Moves so far, those taken back twice, and how many there were when the
  /// value's state changed last.
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
  friend class Trial;
  struct ValueState {
    LayoutId made = 0;
    /// Layouts that users need, ascending, and how many operands do.
    llvm::SmallVector<std::pair<LayoutId, unsigned>, 2> needed;
    /// One more than an op has operands of it, at most.
    unsigned mostCounted = 1;
    UseId use = 0;
    StateId state = 0;
    uint64_t changedAt = 0;
    double cost = 0;
  };

  /// An op's situation, while `choice` is its choice and no value of it has
  /// changed.
  struct OpSituation {
    bool isKnown = false;
    ChoiceIndex choice = 0;
    uint64_t foundAt = 0;
    SituationId id = 0;
  };
  std::optional<ChoiceIndex> computeBestChange(unsigned op);
  void apply(unsigned op, const Choice &from, const Choice &to);
  bool differ(unsigned op, unsigned value, const Choice &from,
              const Choice &to) const;
  void addUse(unsigned value, LayoutId layout, int count);
  /// The layouts needed other than the made one.
  llvm::SmallVector<LayoutId, 4> othersNeeded(unsigned value) const;
  double computeCost(unsigned value) const;
  /// What it is at least: each layout that is needed is made from one that is
  /// there.
  double leastCost(unsigned value) const;
  double computeChange(unsigned op, const Choice &next,
                       double (Plan::*costOf)(unsigned) const);
  void take(unsigned op, ChoiceIndex index);
  void updateState(unsigned value);
  StateId findState(unsigned value) const;
  void setUse(unsigned value, UseId use);

  CostTables *tables;
  std::vector<ChoiceIndex> choices;
  std::vector<const Choice *> current;
  std::vector<ValueState> values;
  std::vector<llvm::SmallVector<unsigned, 4>> touched, neighbours;
  uint64_t numMoves = 0;
  std::vector<OpSituation> situations;
};

/// Moves that are kept together, or taken back.
class Trial {
public:
  explicit Trial(Plan &plan) : plan(plan) {}
  size_t size() const { return moves.size(); }
  void move(unsigned op, ChoiceIndex index);
  /// All but the first `kept`.
  void takeBack(size_t kept = 0);

private:
  struct Move {
    unsigned op;
    ChoiceIndex before;
    /// Of the op's values, before the move.
    llvm::SmallVector<UseId, 4> uses;
  };

  Plan &plan;
  std::vector<Move> moves;
};

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_PLAN_H
