// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The search as a sum of parts that choose on their own, at prices that make
// them agree.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_RELAXATION_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_RELAXATION_H

#include "VersionCosts.h"
#include <map>
#include <memory>

namespace shoal::assignment {

//
// A plan's cost is a sum over ops, of their choices, and over values, of the
// layouts in which they are made and needed. An op and its values agree along
// edges:
//
//        value %a  ---- result of op 0, one of its layouts
//                  ---- operand of op 1
//                  ---- operand of op 2
//
// If both sides of each edge choose a layout on their own, the sum of all least
// costs is a bound. It stays one if an edge's layout costs its op more and its
// value as much less. Such prices (`price`) are moved to and fro until the
// bound is as high as they get it: a value takes all that its ops know of its
// layouts, and gives what it knows, in equal parts, to the ops that stand
// before values behind it; then the same from the last value to the first.

/// All operands of an op that are one value, or one of its results.
struct Edge {
  unsigned op, value;
  /// Which of the op's edges it is, and of the value's.
  unsigned place, placeOfValue;
  /// What its layouts, in the op's order, cost the op more, and the value less.
  Costs price;
};

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
  explicit OpChoices(size_t numEdges) : layouts(numEdges), columns(numEdges) {}
  void add(const Choice &choice, ChoiceIndex index, const EdgesOf &edges);
  /// Once all are added.
  std::shared_ptr<const OpChoices> finish() &&;

  std::vector<OpOption> options;
  /// By edge.
  std::vector<std::vector<NeededLayouts>> layouts;
  /// The same as OpOption::layouts, by edge: what sweeps go through.
  std::vector<std::vector<uint16_t>> columns;
};

/// A value's edges, its op's first, and what they cost; the costs are shared by
/// values that are alike.
struct ValueFactor {
  llvm::SmallVector<unsigned, 4> edges;
  const VersionCosts *costs = nullptr;
};

/// By op.
using AllChoices = std::vector<std::shared_ptr<const OpChoices>>;

/// The costs of values by their class and the layouts on their edges.
using KnownVersionCosts = std::map<std::vector<LayoutId>, VersionCosts>;

/// The relaxation of what may be chosen, and the prices that make its bound.
class Relaxation {
public:
  /// `known` outlives it.
  Relaxation(CostTables &tables, AllChoices choices, KnownVersionCosts &known);
  const AllChoices &getChoices() const { return choices; }
  /// Goes forward and backward once.
  void sweep();
  /// The least costs by value, edge and layout, nothing of a value without
  /// edges; and the bound at these prices.
  struct Marginals {
    std::vector<std::vector<Costs>> ofValues;
    double bound = 0;
  };
  Marginals findMarginals();
  /// The choices with which a plan may cost no more than `known`.
  AllChoices choicesWithin(double known, const Marginals &marginals) const;
  /// Takes the prices of layouts that are still there.
  void takePrices(const Relaxation &other);
  std::vector<ChoiceIndex> decode() const;

private:
  void addEdges(unsigned op);
  void addCosts(unsigned value, KnownVersionCosts &known);
  llvm::ArrayRef<NeededLayouts> layoutsOf(const Edge &edge) const {
    return choices[edge.op]->layouts[edge.place];
  }
  Costs costsOf(unsigned op) const;
  Costs excessOf(unsigned op, llvm::ArrayRef<std::vector<Costs>> known) const;
  Costs opMarginal(const Edge &edge) const;
  void addToPrice(Edge &edge, llvm::ArrayRef<double> costs, double part);
  std::vector<Costs> onTopOf(const ValueFactor &value) const;
  std::vector<Costs> marginalsOf(const ValueFactor &value) const {
    return value.costs->marginals(onTopOf(value));
  }
  bool goesOn(const Edge &edge, bool forward) const;
  void visit(unsigned value, bool forward);

  CostTables &tables;
  AllChoices choices;
  std::vector<Edge> edges;
  std::vector<llvm::SmallVector<unsigned, 4>> edgesOfOp;
  /// Of each op's choices, at the prices of its edges.
  std::vector<Costs> costs;
  std::vector<ValueFactor> values;
};

/// All that ops may choose, nothing where one may choose too much; without what
/// alone costs more than is left of `known` where all other ops cost their
/// least.
std::optional<AllChoices> allChoicesWithin(CostTables &tables, double known);

/// With nothing but what is kept of the choices of one op.
std::shared_ptr<const OpChoices>
keepChoices(CostTables &tables, unsigned op, const OpChoices &choices,
            llvm::function_ref<bool(size_t)> isKept);

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_RELAXATION_H
