// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Plan.h"
#include "Keys.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

using namespace shoal;
using namespace shoal::assignment;

/// Of one thing that was tried in vain: searches from several starts end near
/// each other.
static constexpr size_t kKnownFailures = 2;

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

Plan::Plan(CostTables &tables, std::vector<ChoiceIndex> start)
    : tables(&tables), choices(std::move(start)),
      values(tables.problem.values.size()), touched(tables.problem.ops.size()),
      neighbours(values.size()), situations(touched.size()) {
  for (auto [id, op] : llvm::enumerate(tables.problem.ops)) {
    const Choice *choice = tables.choice(id, choices[id]);
    assert(choice && "a plan starts from allowed choices");
    current.push_back(choice);
    for (auto [value, layout] : llvm::zip_equal(op.results, choice->results))
      values[value].made = layout;
    for (auto [value, layout] : llvm::zip_equal(op.operands, choice->operands))
      addUse(value, layout, 1);
    for (llvm::ArrayRef<unsigned> list :
         {llvm::ArrayRef(op.operands), llvm::ArrayRef(op.results)})
      for (unsigned value : list) {
        if (llvm::is_contained(touched[id], value))
          continue;
        touched[id].push_back(value);
        neighbours[value].push_back(id);
      }
    for (unsigned value : op.operands)
      values[value].mostCounted = std::max<unsigned>(
          values[value].mostCounted, llvm::count(op.operands, value) + 1);
  }
  for (unsigned value = 0; value < values.size(); ++value)
    updateState(value);
}

void Plan::updateState(unsigned value) {
  ValueState &own = values[value];
  WordKey key;
  key.add(tables->valueClassOf(value));
  key.add(own.mostCounted);
  key.add(own.made);
  for (auto [layout, count] : own.needed) {
    key.add(layout);
    key.add(count);
  }
  Known &known = tables->getKnown();
  UseId use = known.uses.idOf(key);
  if (use == known.stateOfUse.size())
    known.stateOfUse.push_back(findState(value));
  setUse(value, use);
}

StateId Plan::findState(unsigned value) const {
  const ValueState &own = values[value];
  WordKey key;
  key.add(tables->valueClassOf(value));
  key.add(own.made);
  for (auto [layout, count] : own.needed) {
    key.add(layout);
    key.add(std::min(count, own.mostCounted));
  }
  return tables->getKnown().states.idOf(key);
}

void Plan::setUse(unsigned value, UseId use) {
  ValueState &own = values[value];
  own.use = use;
  StateId state = tables->getKnown().stateOfUse[use];
  std::vector<double> &costs = tables->getKnownCosts().ofStates;
  if (state >= costs.size())
    costs.resize(state + 1, std::numeric_limits<double>::quiet_NaN());
  if (std::isnan(costs[state]))
    costs[state] = computeCost(value);
  if (own.state != state)
    own.changedAt = numMoves;
  own.state = state;
  own.cost = costs[state];
}

/// Of a value that op 0 makes and ops 1 to 10 read those near to an op, at most
/// 4:
///
///   op 4    2, 3, 4, 5
///   op 0    0, 1, 2, 3
///   op 10   7, 8, 9, 10
llvm::ArrayRef<unsigned> Plan::opsNear(unsigned value, unsigned op,
                                       size_t limit) const {
  llvm::ArrayRef<unsigned> all = neighbours[value];
  if (all.size() <= limit)
    return all;
  size_t place = llvm::lower_bound(all, op) - all.begin();
  assert(place < all.size() && all[place] == op && "it is one of the ops");
  size_t first =
      std::min(place - std::min(place, limit / 2), all.size() - limit);
  return all.slice(first, limit);
}

void Plan::addUse(unsigned value, LayoutId layout, int count) {
  auto &needed = values[value].needed;
  auto *it = llvm::lower_bound(needed, layout, [](auto &entry, LayoutId id) {
    return entry.first < id;
  });
  if (it == needed.end() || it->first != layout)
    it = needed.insert(it, {layout, 0});
  it->second += count;
  if (it->second == 0)
    needed.erase(it);
}

llvm::SmallVector<LayoutId, 4> Plan::othersNeeded(unsigned value) const {
  llvm::SmallVector<LayoutId, 4> others;
  for (auto [layout, count] : values[value].needed)
    if (layout != values[value].made)
      others.push_back(layout);
  return others;
}

llvm::SmallVector<LayoutId, 4> Plan::layoutsOf(unsigned value) const {
  llvm::SmallVector<LayoutId, 4> layouts = {values[value].made};
  for (auto [layout, count] : values[value].needed)
    layouts.push_back(layout);
  return layouts;
}

double Plan::computeCost(unsigned value) const {
  LayoutId made = values[value].made;
  llvm::SmallVector<LayoutId, 4> others = othersNeeded(value);
  if (others.empty())
    return 0;
  if (others.size() == 1)
    return tables->reshard(value, made, others[0]);
  return findVersionTree(*tables, value, made, others).cost;
}

double Plan::leastCost(unsigned value) const {
  llvm::SmallVector<LayoutId, 4> there = othersNeeded(value);
  there.push_back(values[value].made);
  double cost = 0;
  for (LayoutId layout : llvm::ArrayRef(there).drop_back()) {
    double least = std::numeric_limits<double>::infinity();
    for (LayoutId from : there)
      if (from != layout)
        least = std::min(least, tables->leastReshard(value, from, layout));
    cost += least;
  }
  return cost;
}

VersionTree Plan::versionTree(unsigned value) const {
  return findVersionTree(*tables, value, values[value].made,
                         othersNeeded(value));
}

double Plan::totalCost() const {
  double cost = 0;
  for (const Choice *choice : current)
    cost += choice->cost();
  for (const ValueState &value : values)
    cost += value.cost;
  return cost;
}

/// Whether the op makes or needs its value otherwise.
bool Plan::differ(unsigned op, unsigned value, const Choice &from,
                  const Choice &to) const {
  const AssignmentProblem::Op &graphOp = tables->problem.ops[op];
  auto differIn = [&](llvm::ArrayRef<unsigned> list,
                      llvm::ArrayRef<LayoutId> before,
                      llvm::ArrayRef<LayoutId> after) {
    for (size_t i = 0; i < list.size(); ++i)
      if (list[i] == value && before[i] != after[i])
        return true;
    return false;
  };
  return differIn(graphOp.operands, from.operands, to.operands) ||
         differIn(graphOp.results, from.results, to.results);
}

void Plan::apply(unsigned op, const Choice &from, const Choice &to) {
  const AssignmentProblem::Op &graphOp = tables->problem.ops[op];
  for (auto [i, value] : llvm::enumerate(graphOp.operands)) {
    if (from.operands[i] == to.operands[i])
      continue;
    addUse(value, to.operands[i], 1);
    addUse(value, from.operands[i], -1);
  }
  for (auto [value, layout] : llvm::zip_equal(graphOp.results, to.results))
    values[value].made = layout;
}

//===----------------------------------------------------------------------===//
// Changes of one op
//===----------------------------------------------------------------------===//

SituationId Plan::situationOf(unsigned op) {
  OpSituation &own = situations[op];
  auto isUnchanged = [&](unsigned value) {
    return values[value].changedAt <= own.foundAt;
  };
  if (own.isKnown && own.choice == choices[op] &&
      llvm::all_of(touched[op], isUnchanged))
    return own.id;
  WordKey key;
  key.add(tables->kindOf(op));
  key.addLong(choices[op]);
  for (unsigned value : touched[op])
    key.add(values[value].state);
  own = {true, choices[op], numMoves, tables->getKnown().situations.idOf(key)};
  return own.id;
}

std::optional<double> Plan::costChange(unsigned op, ChoiceIndex index) {
  auto [it, isNew] = tables->getKnownCosts().changes.try_emplace(
      {situationOf(op), index}, std::nullopt);
  if (!isNew)
    return it->second;
  if (const Choice *next = tables->choice(op, index))
    it->second = computeChange(op, *next, &Plan::computeCost);
  return it->second;
}

std::optional<ChoiceIndex> Plan::findBestChange(unsigned op) {
  SituationId situation = situationOf(op);
  auto &known = tables->getKnownCosts().best;
  if (auto found = known.find(situation); found != known.end())
    return found->second;
  std::optional<ChoiceIndex> best = computeBestChange(op);
  known[situation] = best;
  return best;
}

double Plan::computeChange(unsigned op, const Choice &next,
                           double (Plan::*costOf)(unsigned) const) {
  const Choice &now = *current[op];
  double change = next.cost() - now.cost();
  apply(op, now, next);
  for (unsigned value : touched[op])
    if (differ(op, value, now, next))
      change += (this->*costOf)(value)-values[value].cost;
  apply(op, next, now);
  return change;
}

/// Most choices are dearer than the best one by what their reshards cost at
/// least, and need no plans of these.
std::optional<PricedChange>
Plan::findCheapest(unsigned op, llvm::ArrayRef<ChoiceIndex> choices,
                   double below) {
  struct Bounded {
    double least;
    size_t place;
  };
  if (choices.size() == 1) { // nothing to leave out by a bound
    std::optional<double> change = costChange(op, choices[0]);
    if (!change || *change >= below)
      return std::nullopt;
    return PricedChange{choices[0], *change};
  }
  auto &known = tables->getKnownCosts().changes;
  SituationId situation = situationOf(op);
  llvm::SmallVector<Bounded, 16> order;
  for (auto [place, index] : llvm::enumerate(choices)) {
    const Choice *choice = tables->choice(op, index);
    if (!choice)
      continue;
    auto change = known.find({situation, index});
    double least = change != known.end()
                       ? *change->second
                       : computeChange(op, *choice, &Plan::leastCost);
    if (least < below)
      order.push_back({least, place});
  }
  llvm::sort(order, [](const Bounded &a, const Bounded &b) {
    return std::pair(a.least, a.place) < std::pair(b.least, b.place);
  });
  std::optional<PricedChange> best;
  size_t bestPlace = 0;
  for (const Bounded &bounded : order) {
    if (best && bounded.least > best->change)
      break;
    double change = *costChange(op, choices[bounded.place]);
    // Of equal ones the first, as if all had been priced.
    bool isCheaper = best ? std::pair(change, bounded.place) <
                                std::pair(best->change, bestPlace)
                          : change < below;
    if (isCheaper)
      best = {choices[bounded.place], change}, bestPlace = bounded.place;
  }
  return best;
}

std::optional<ChoiceIndex> Plan::computeBestChange(unsigned op) {
  const OpClass &opClass = tables->classOf(op);
  ChoiceIndex now = choices[op];
  llvm::SmallVector<ChoiceIndex, 16> others;
  for (AxisId axis = 0; axis < tables->problem.mesh.axes.size(); ++axis)
    for (unsigned label = 0; label < opClass.numLabels(axis); ++label)
      if (ChoiceIndex next = opClass.withLabel(now, axis, label); next != now)
        others.push_back(next);
  if (auto best = findCheapest(op, others, -kMinGain))
    return best->index;
  return std::nullopt;
}

/// Leaves the states of the op's values to the caller.
void Plan::take(unsigned op, ChoiceIndex index) {
  const Choice *next = tables->choice(op, index);
  assert(next && "a move goes to an allowed choice");
  apply(op, *current[op], *next);
  choices[op] = index;
  current[op] = next;
  ++numMoves;
}

void Plan::move(unsigned op, ChoiceIndex index) {
  const Choice &before = *current[op];
  take(op, index);
  for (unsigned value : touched[op])
    if (differ(op, value, before, *current[op]))
      updateState(value);
}

//===----------------------------------------------------------------------===//
// What is tried
//===----------------------------------------------------------------------===//

void Trial::move(unsigned op, ChoiceIndex index) {
  Move &move = moves.emplace_back(op, plan.choiceOf(op));
  for (unsigned value : plan.valuesOf(op))
    move.uses.push_back(plan.values[value].use);
  plan.move(op, index);
}

void Trial::takeBack(size_t kept) {
  for (; moves.size() > kept; moves.pop_back()) {
    const Move &move = moves.back();
    plan.take(move.op, move.before);
    for (auto [value, use] : llvm::zip_equal(plan.valuesOf(move.op), move.uses))
      plan.setUse(value, use);
  }
}

uint64_t Plan::digestOf(llvm::ArrayRef<unsigned> ops) const {
  WordDigest digest;
  for (unsigned op : ops) {
    digest.add(choices[op]);
    for (unsigned value : touched[op])
      digest.add(values[value].use);
  }
  return digest.get();
}

bool Plan::isFailure(const TryId &id, double mostLost) const {
  auto &failures = tables->getKnownCosts().failures;
  auto known = failures.find(id.asTuple());
  return known != failures.end() &&
         llvm::any_of(known->second, [&](const FailedTry &failed) {
           return failed.lost > mostLost &&
                  failed.digest == digestOf(failed.ops);
         });
}

void Plan::noteFailure(const TryId &id, llvm::ArrayRef<unsigned> ops,
                       double lost) {
  auto &known = tables->getKnownCosts().failures[id.asTuple()];
  if (known.size() == kKnownFailures)
    known.erase(known.begin());
  known.push_back({ops.vec(), digestOf(ops), lost});
}
