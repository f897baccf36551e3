// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Frontier.h"
#include "Keys.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace shoal;
using namespace shoal::assignment;

static constexpr double kNone = std::numeric_limits<double>::infinity();

/// The number of `value` among the distinct values of an op.
static unsigned numberOf(const Plan &plan, unsigned op, unsigned value) {
  llvm::ArrayRef<unsigned> values = plan.valuesOf(op);
  return llvm::find(values, value) - values.begin();
}

Frontier::Frontier(Plan &plan)
    : plan(plan), neighbours(plan.getTables().problem.ops.size()),
      lastAsked(plan.getTables().problem.values.size()) {}

//===----------------------------------------------------------------------===//
// Which ops are asked
//===----------------------------------------------------------------------===//
//
// An op was moved. Another op reads or makes one of its values, on which the
// moved one has the axis `there`, a dimension or none:
//
//        the other op                                    before -> after
//   (A1) is far from it among more ops than one chain    as it was
//        moves (maxMovesPerChain)
//   (A2) was asked for `there` on that value, whose      as it was
//        state is still the same
//   (A3) has no choice on the axis                       as it was
//   (A4) was moved by the chain itself                   done -> done
//   (A5) wishes that already                             open -> open, queued
//   (A6) else                                            new or open -> open,
//                                                        queued, with the wish
//
// (A1): no chain moves all users of a value that more ops read, such as weights
// that all layers share; looking at each of them from each would make the
// search quadratic.

void Frontier::begin(AxisId newAxis) {
  axis = newAxis;
  ++chain;
  open.clear();
  seen.clear();
  queue.clear();
}

Frontier::Neighbour &Frontier::touch(unsigned op) {
  Neighbour &neighbour = neighbours[op];
  if (neighbour.chain == chain)
    return neighbour;
  neighbour.chain = chain;
  neighbour.isDone = neighbour.isQueued = neighbour.hasNewWish = false;
  neighbour.wishes.clear();
  neighbour.place = open.size();
  open.push_back({op, kNone});
  seen.push_back(op);
  return neighbour;
}

void Frontier::close(unsigned op) {
  Neighbour &neighbour = touch(op);
  assert(!neighbour.isDone && "a chain moves an op once");
  neighbour.isDone = true;
  neighbours[open.back().op].place = neighbour.place;
  open[neighbour.place] = open.back();
  open.pop_back();
}

int Frontier::locationOf(unsigned op, unsigned value) const {
  const AssignmentProblem::Op &graphOp = plan.getTables().problem.ops[op];
  const Choice &choice = plan.resolved(op);
  for (auto [operand, layout] :
       llvm::zip_equal(graphOp.operands, choice.operands))
    if (operand == value)
      return plan.getTables().location(layout, axis);
  size_t result = llvm::find(graphOp.results, value) - graphOp.results.begin();
  return plan.getTables().location(choice.results[result], axis);
}

void Frontier::expand(unsigned op) {
  close(op);
  for (unsigned value : plan.valuesOf(op))
    askNear(value, op);
}

void Frontier::askNear(unsigned value, unsigned op) {
  int there = locationOf(op, value);
  llvm::ArrayRef<unsigned> all = plan.opsOf(value);
  llvm::ArrayRef<unsigned> near = // (A1)
      plan.opsNear(value, op, plan.getTables().options.maxMovesPerChain);
  unsigned first = near.begin() - all.begin(), last = first + near.size();
  Asked &asked = lastAsked[value];
  bool isSame = asked.chain == chain && asked.location == there &&
                plan.changedAt(value) <= asked.at && first <= asked.last &&
                asked.first <= last;
  if (!isSame)
    asked = {chain, there, first, first, 0};
  for (unsigned i = first; i < last; ++i) {
    bool wasAsked = i >= asked.first && i < asked.last; // (A2)
    bool hasChoice =
        plan.getTables().classOf(all[i]).numLabels(axis) > 1; // (A3)
    if (!wasAsked && hasChoice)
      ask(all[i], value, there);
  }
  asked.first = std::min(asked.first, first);
  asked.last = std::max(asked.last, last);
  asked.at = plan.now();
}

void Frontier::ask(unsigned op, unsigned value, int location) {
  Neighbour &neighbour = touch(op);
  if (neighbour.isDone) // (A4)
    return;
  Wish wish{numberOf(plan, op, value), location};
  auto *place = llvm::lower_bound(neighbour.wishes, wish);
  bool isKnown = place != neighbour.wishes.end() && *place == wish; // (A5)
  if (!isKnown) {                                                   // (A6)
    neighbour.wishes.insert(place, wish);
    neighbour.hasNewWish = true;
  }
  if (neighbour.isQueued)
    return;
  neighbour.isQueued = true;
  queue.push_back(op);
}

//===----------------------------------------------------------------------===//
// The best move of each
//===----------------------------------------------------------------------===//
//
// A queued op may have another best move by now:
//
//        the op                                          its best move
//   (B1) was moved by the chain                          none
//   (B2) has no new wish, and no value of it changed     stands
//        since its move was found
//   (B3) is in all that counts like one looked at        is looked up
//        before: situation, axis, wishes
//   (B4) else                                            the cheapest of those
//                                                        that grant a wish

bool Frontier::grants(unsigned op, const Choice &choice,
                      llvm::ArrayRef<Wish> wishes) const {
  const AssignmentProblem::Op &graphOp = plan.getTables().problem.ops[op];
  return llvm::any_of(wishes, [&](const Wish &wish) {
    unsigned value = plan.valuesOf(op)[wish.value];
    auto isThere = [&](auto pair) {
      auto [own, layout] = pair;
      return own == value &&
             plan.getTables().location(layout, axis) == wish.location;
    };
    return llvm::any_of(llvm::zip_equal(graphOp.operands, choice.operands),
                        isThere) ||
           llvm::any_of(llvm::zip_equal(graphOp.results, choice.results),
                        isThere);
  });
}

PricedChange Frontier::findBest(unsigned op,
                                llvm::ArrayRef<Wish> wishes) const {
  CostTables &tables = plan.getTables();
  const OpClass &opClass = tables.classOf(op);
  ChoiceIndex current = plan.choiceOf(op);
  PricedChange best{0, kNone};
  for (unsigned label = 0; label < opClass.numLabels(axis); ++label) {
    ChoiceIndex next = opClass.withLabel(current, axis, label);
    const Choice *choice = next == current ? nullptr : tables.choice(op, next);
    if (!choice || !grants(op, *choice, wishes))
      continue;
    double change = *plan.costChange(op, next);
    if (change < best.change)
      best = {next, change};
  }
  return best;
}

/// All that the best move of an op depends on.
WordKey Frontier::keyOf(unsigned op) {
  WordKey key;
  key.add(plan.situationOf(op));
  key.add(axis);
  for (const Wish &wish : neighbours[op].wishes) {
    key.add(wish.value);
    key.add(wish.location);
  }
  return key;
}

void Frontier::update(unsigned op) {
  Neighbour &neighbour = neighbours[op];
  neighbour.isQueued = false;
  if (neighbour.isDone) // (B1)
    return;
  assert(neighbour.chain == chain && open[neighbour.place].op == op &&
         "what is queued is open");
  auto isUnchanged = [&](unsigned value) {
    return plan.changedAt(value) <= neighbour.foundAt;
  };
  if (!neighbour.hasNewWish &&
      llvm::all_of(plan.valuesOf(op), isUnchanged)) // (B2)
    return;
  neighbour.hasNewWish = false;
  neighbour.foundAt = plan.now();
  KnownCosts &known = plan.getTables().getKnownCosts();
  unsigned asked = known.asked.idOf(keyOf(op)); // (B3)
  if (asked == known.granting.size())
    known.granting.push_back(findBest(op, neighbour.wishes)); // (B4)
  neighbour.index = known.granting[asked].index;
  open[neighbour.place].change = known.granting[asked].change;
}

std::optional<Candidate> Frontier::findNext() {
  for (unsigned op : queue)
    update(op);
  queue.clear();
  Open best{0, kNone};
  for (const Open &next : open)
    if (next.change < best.change ||
        (next.change == best.change && next.op < best.op))
      best = next;
  if (best.change == kNone)
    return std::nullopt;
  return Candidate{best.op, neighbours[best.op].index, best.change};
}
