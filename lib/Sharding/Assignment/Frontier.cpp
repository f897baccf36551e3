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

/// For example a value that op 0 makes and ops 1 to 10 read, where a chain has
/// 4 moves. Ops 4, 5 and 6 are moved one after the other, and need it elsewhere
/// then:
///
///   op 4   near are 2 to 5, of which 2, 3 and 5 are asked
///   op 5   near are 3 to 6. The state of the value is another one: two ops
///          need the new layout, so that none alone decides that it is needed.
///          3 and 6 are asked
///   op 6   near are 4 to 7. Three need it, which is all the same for the price
///          of one op's move: of 4 to 7 all but 7 were asked in this state
///          (A2), 7 is asked
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

/// Whether one of the wishes comes true. Of "IK,KJ->IJ" with h, w -> p, asked
/// to have "x" on dimension 0 of p: splitting I does, K leaves p partial and J
/// is dimension 1. Of h + h asked for dimension 0 of h it is enough that one of
/// the operands has it there.
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
  llvm::SmallVector<ChoiceIndex, 8> granting;
  for (unsigned label = 0; label < opClass.numLabels(axis); ++label) {
    ChoiceIndex next = opClass.withLabel(current, axis, label);
    const Choice *choice = next == current ? nullptr : tables.choice(op, next);
    if (choice && grants(op, *choice, wishes))
      granting.push_back(next);
  }
  return plan.findCheapest(op, granting, kNone)
      .value_or(PricedChange{0, kNone});
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

/// For example two programs as above Frontier, side by side, ops 0 to 3 and 4
/// to 7. In the chain that begins at op 1, op 2 is queued: it has a wish, and
/// of each label that grants it the change is computed (B4). In the one that
/// begins at op 5, op 6 is of the same kind, with the same choice, its values
/// in the same states, and asked for the same: its move is that of op 2, known
/// to cost -4,096 (B3).
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
