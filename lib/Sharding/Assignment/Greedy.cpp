// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Keys.h"
#include "Search.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace shoal;
using namespace shoal::assignment;

namespace {
/// Ops with more choices take their labels axis by axis.
constexpr ChoiceIndex kMaxJointChoices = 2048;

/// A price of a reshard: CostTables::reshard, or leastReshard.
using PriceOf = double (CostTables::*)(unsigned value, LayoutId from,
                                       LayoutId to);

class Greedy {
public:
  Greedy(CostTables &tables, const Hints &hints);
  std::vector<ChoiceIndex> run();

private:
  ChoiceIndex choose(unsigned op);
  ChoiceIndex compute(unsigned op);
  WordKey keyOf(unsigned op) const;
  ChoiceIndex chooseJointly(unsigned op);
  ChoiceIndex chooseAxisByAxis(unsigned op);
  double score(unsigned op, const Choice &choice, double bound);
  double scoreBy(PriceOf priceOf, unsigned op, const Choice &choice,
                 double bound);
  double operandScore(PriceOf priceOf, unsigned value, LayoutId needed);
  double resultScore(PriceOf priceOf, unsigned value, LayoutId made);
  LayoutId lazily(LayoutId hint, LayoutId made);
  void record(unsigned op, const Choice &choice);

  CostTables &tables;
  std::vector<LayoutId> hintLayouts;
  /// By hint, and what is made.
  llvm::DenseMap<std::pair<LayoutId, LayoutId>, LayoutId> lazyLayouts;
  /// The layouts in which each value exists so far.
  std::vector<llvm::SmallVector<LayoutId, 2>> versions;
  /// By keyOf.
  WordIds situations;
  std::vector<ChoiceIndex> chosen;
};
} // namespace

Greedy::Greedy(CostTables &tables, const Hints &hints)
    : tables(tables), versions(tables.problem.values.size()) {
  for (unsigned value = 0; value < versions.size(); ++value)
    hintLayouts.push_back(tables.intern(hints.sharding(value)));
}

double Greedy::operandScore(PriceOf priceOf, unsigned value, LayoutId needed) {
  if (versions[value].empty()) // Comes later, around a loop.
    return 0;
  double best = std::numeric_limits<double>::infinity();
  for (LayoutId version : versions[value])
    best = std::min(best, (tables.*priceOf)(value, version, needed));
  return best;
}

double Greedy::resultScore(PriceOf priceOf, unsigned value, LayoutId made) {
  LayoutId hint = hintLayouts[value];
  const Layout &layout = tables.layout(made);
  if (layout.sharding.partial.empty())
    return (tables.*priceOf)(value, made, hint);
  return (tables.*priceOf)(value, made, lazily(hint, made)) +
         (tables.*priceOf)(value, made, hint) / 2;
}

/// The hint, with addends where `made` has them.
LayoutId Greedy::lazily(LayoutId hint, LayoutId made) {
  auto [known, isNew] = lazyLayouts.try_emplace({hint, made});
  if (!isNew)
    return known->second;
  const Layout &layout = tables.layout(made);
  Layout lazy{tables.layout(hint).sharding, layout.deviceOrder};
  for (AxisId axis : layout.sharding.partial)
    for (AxisList &dim : lazy.sharding.dims)
      llvm::erase(dim, axis);
  lazy.sharding.partial = layout.sharding.partial;
  return known->second = tables.intern(lazy);
}

/// Most choices are too dear by what their reshards cost at least, and need no
/// plans of these. What is at least `bound` may be less than the choice's.
double Greedy::score(unsigned op, const Choice &choice, double bound) {
  if (tables.plansReshards()) {
    double least = scoreBy(&CostTables::leastReshard, op, choice, bound);
    if (least >= bound)
      return least;
  }
  return scoreBy(&CostTables::reshard, op, choice, bound);
}

double Greedy::scoreBy(PriceOf priceOf, unsigned op, const Choice &choice,
                       double bound) {
  const AssignmentProblem::Op &graphOp = tables.problem.ops[op];
  double score = choice.cost();
  for (auto [i, value] : llvm::enumerate(graphOp.operands)) {
    if (score >= bound)
      return score;
    bool isRepeated = false;
    for (size_t j = 0; j < i; ++j)
      isRepeated |= graphOp.operands[j] == value &&
                    choice.operands[j] == choice.operands[i];
    if (!isRepeated)
      score += operandScore(priceOf, value, choice.operands[i]);
  }
  for (auto [value, made] : llvm::zip_equal(graphOp.results, choice.results)) {
    if (score >= bound)
      return score;
    score += resultScore(priceOf, value, made);
  }
  return score;
}

ChoiceIndex Greedy::chooseJointly(unsigned op) {
  ChoiceIndex best = 0;
  double bestScore = std::numeric_limits<double>::infinity();
  for (ChoiceIndex i = 0; i < tables.classOf(op).numChoices(); ++i) {
    const Choice *choice = tables.choice(op, i);
    if (!choice)
      continue;
    double own = score(op, *choice, bestScore);
    if (own < bestScore)
      best = i, bestScore = own;
  }
  return best;
}

ChoiceIndex Greedy::chooseAxisByAxis(unsigned op) {
  const OpClass &opClass = tables.classOf(op);
  ChoiceIndex best = 0;
  double bestScore =
      score(op, *tables.choice(op, 0), std::numeric_limits<double>::infinity());
  for (bool changed = true; changed;) {
    changed = false;
    for (AxisId axis = 0; axis < tables.problem.mesh.axes.size(); ++axis)
      for (unsigned label = 0; label < opClass.numLabels(axis); ++label) {
        ChoiceIndex next = opClass.withLabel(best, axis, label);
        const Choice *choice = tables.choice(op, next);
        if (!choice)
          continue;
        double own = score(op, *choice, bestScore);
        if (own < bestScore - kMinGain)
          best = next, bestScore = own, changed = true;
      }
  }
  return best;
}

/// All that an op's choice depends on.
WordKey Greedy::keyOf(unsigned op) const {
  const AssignmentProblem::Op &graphOp = tables.problem.ops[op];
  WordKey key;
  key.add(tables.kindOf(op));
  for (unsigned value : graphOp.operands) {
    key.add(versions[value].size());
    for (LayoutId version : versions[value])
      key.add(version);
  }
  for (unsigned value : graphOp.results)
    key.add(hintLayouts[value]);
  return key;
}

/// Ops that are alike choose alike.
ChoiceIndex Greedy::choose(unsigned op) {
  unsigned situation = situations.idOf(keyOf(op));
  if (situation == chosen.size())
    chosen.push_back(compute(op));
  return chosen[situation];
}

ChoiceIndex Greedy::compute(unsigned op) {
  return tables.classOf(op).numChoices() <= kMaxJointChoices
             ? chooseJointly(op)
             : chooseAxisByAxis(op);
}

void Greedy::record(unsigned op, const Choice &choice) {
  const AssignmentProblem::Op &graphOp = tables.problem.ops[op];
  auto add = [&](unsigned value, LayoutId layout) {
    if (!llvm::is_contained(versions[value], layout))
      versions[value].push_back(layout);
  };
  for (auto [value, layout] :
       llvm::zip_equal(graphOp.operands, choice.operands))
    if (!versions[value].empty())
      add(value, layout);
  for (auto [value, layout] : llvm::zip_equal(graphOp.results, choice.results))
    add(value, layout);
}

std::vector<ChoiceIndex> Greedy::run() {
  std::vector<ChoiceIndex> choices;
  for (unsigned op = 0; op < tables.problem.ops.size(); ++op) {
    choices.push_back(choose(op));
    record(op, *tables.choice(op, choices.back()));
  }
  return choices;
}

std::vector<ChoiceIndex> assignment::chooseGreedily(CostTables &tables,
                                                    const Hints &hints) {
  return Greedy(tables, hints).run();
}

//===----------------------------------------------------------------------===//
// What cannot be
//===----------------------------------------------------------------------===//

/// The op's choice without the axes that split what is to be addends of
/// `needed`.
static ChoiceIndex withoutImpossible(const Plan &plan, unsigned op,
                                     LayoutId made, LayoutId needed) {
  CostTables &tables = plan.getTables();
  ChoiceIndex index = plan.choiceOf(op);
  for (AxisId axis : tables.layout(needed).sharding.partial)
    if (tables.location(made, axis) >= 0)
      index = tables.classOf(op).withLabel(index, axis, /*label=*/0);
  return index;
}

void assignment::leaveImpossible(Plan &plan) {
  for (auto [op, graphOp] : llvm::enumerate(plan.getTables().problem.ops))
    for (auto [operand, value] : llvm::enumerate(graphOp.operands)) {
      if (plan.valueCost(value) < kForbidden)
        continue;
      // As a sum it is whole on the axes, which all others can be made of.
      ChoiceIndex index =
          withoutImpossible(plan, op, plan.versionTree(value).nodes[0].layout,
                            plan.resolved(op).operands[operand]);
      if (index != plan.choiceOf(op))
        plan.move(op, index);
    }
}
