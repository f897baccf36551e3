// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The search as a sum of parts that choose on their own, at prices that make
// them agree.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_RELAXATION_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_RELAXATION_H

#include "OpChoices.h"
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
  /// Whether the op has another edge, to a value behind this one, or before it.
  bool goesForward, goesBackward;
  /// What its layouts, in the op's order, cost the op more, and the value less.
  Costs price;
};

/// A value's edges, its op's first, and what they cost; the costs are shared by
/// values that are alike.
struct ValueFactor {
  llvm::SmallVector<unsigned, 4> edges;
  const VersionCosts *costs = nullptr;
};

/// The costs of values by their class, how reshards are priced and the layouts
/// on their edges.
using KnownVersionCosts = std::map<std::vector<LayoutId>, VersionCosts>;

/// The relaxation of what may be chosen, and the prices that make its bound.
class Relaxation {
public:
  /// `known` outlives it; `tooDear`: no plan that is looked for costs as much.
  Relaxation(CostTables &tables, AllChoices choices, ReshardPrice price,
             KnownVersionCosts &known, double tooDear);
  /// Of choices that are left of another one's (keepChoices), at its prices.
  Relaxation(const Relaxation &other, AllChoices left)
      : Relaxation(other, std::move(left), other.reshardPrice) {}
  Relaxation(const Relaxation &other, AllChoices left, ReshardPrice price);
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
  std::vector<ChoiceIndex> decode() const;

private:
  void addEdges(unsigned op);
  void addCosts(unsigned value);
  llvm::ArrayRef<NeededLayouts> layoutsOf(const Edge &edge) const {
    return choices[edge.op]->layouts[edge.place];
  }
  Costs costsOf(unsigned op) const;
  Costs excessOf(unsigned op, llvm::ArrayRef<std::vector<Costs>> known) const;
  void addToPrice(Edge &edge, llvm::ArrayRef<double> costs, double part);
  void takeMarginal(Edge &edge);
  void onTopOf(const ValueFactor &value, std::vector<Costs> &onTop) const;
  void visit(unsigned value, bool forward);

  CostTables &tables;
  ReshardPrice reshardPrice;
  KnownVersionCosts &known;
  double tooDear;
  AllChoices choices;
  std::vector<Edge> edges;
  std::vector<llvm::SmallVector<unsigned, 4>> edgesOfOp;
  /// Of each op's choices, at the prices of its edges.
  std::vector<Costs> costs;
  std::vector<ValueFactor> values;
  /// Of one visit, kept for their memory.
  Costs change;
  std::vector<Costs> onTop, least;
};

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_RELAXATION_H
