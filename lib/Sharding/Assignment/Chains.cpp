// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Frontier.h"
#include "Search.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/Format.h"

#define DEBUG_TYPE "shoal-assign"

using namespace shoal;
using namespace shoal::assignment;

void assignment::descend(Plan &plan, unsigned maxSweeps) {
  unsigned numOps = plan.getTables().problem.ops.size();
  // An op whose values no one touched since it was last looked at gains
  // nothing now either.
  std::vector<bool> isSettled(numOps, false);
  for (unsigned sweep = 0; sweep < maxSweeps; ++sweep) {
    bool changed = false;
    for (unsigned i = 0; i < numOps; ++i) {
      unsigned op = sweep % 2 == 0 ? i : numOps - 1 - i;
      if (isSettled[op] || plan.getTables().classOf(op).isFixed())
        continue;
      isSettled[op] = true;
      std::optional<ChoiceIndex> next = plan.findBestChange(op);
      if (!next)
        continue;
      plan.move(op, *next);
      changed = true;
      for (unsigned value : plan.valuesOf(op))
        for (unsigned other : plan.opsOf(value))
          isSettled[other] = false;
    }
    if (!changed)
      return;
  }
}

namespace {

/// One chain: a forced change on one axis and the moves that follow it.
class Chain {
public:
  Chain(Plan &plan, Frontier &frontier)
      : plan(plan), frontier(frontier), trial(plan) {}
  /// Gives up where it has lost more than `mostLost`. Returns the gain of the
  /// prefix that was kept, 0 where none was.
  double run(const Candidate &first, double mostLost);
  /// As FailedTry::lost.
  double getLost() const { return lost; }

private:
  void move(const Candidate &candidate);

  Plan &plan;
  Frontier &frontier;
  Trial trial;
  ChangeSum change;
  double lost = std::numeric_limits<double>::infinity();
};

} // namespace

void Chain::move(const Candidate &candidate) {
  trial.move(candidate.op, candidate.index);
  change.add(candidate.change);
  frontier.expand(candidate.op);
}

double Chain::run(const Candidate &first, double mostLost) {
  double best = 0;
  size_t keep = 0;
  move(first);
  while (true) {
    if (change.gains() && change.get() < best)
      best = change.get(), keep = trial.size();
    if (trial.size() >= plan.getTables().options.maxMovesPerChain)
      break;
    if (change.get() > mostLost) {
      lost = change.get();
      break;
    }
    std::optional<Candidate> next = frontier.findNext();
    if (!next)
      break;
    move(*next);
  }
  if (keep > 0)
    LDBG(2) << "chain from op " << first.op << " gains "
            << llvm::format("%.0f", -best) << " by its "
            << "first " << keep << " of " << trial.size() << " moves";
  trial.takeBack(keep);
  return keep > 0 ? -best : 0;
}

/// Whether a change of the op could gain: it reads or makes a value that is
/// moved, or computes something twice.
static bool isSeed(Plan &plan, unsigned op) {
  if (plan.getTables().classOf(op).isFixed())
    return false;
  if (llvm::any_of(plan.valuesOf(op),
                   [&](unsigned value) { return plan.valueCost(value) > 0; }))
    return true;
  double whole = plan.getTables().problem.ops[op].rule.flops;
  int64_t devices = plan.getTables().problem.mesh.numDevices();
  return plan.resolved(op).reductions > 0 ||
         plan.resolved(op).flops * devices > whole * (1 + 1e-9);
}

/// What the op and the values that it touches cost.
static double atStake(const Plan &plan, unsigned op) {
  double cost = plan.resolved(op).cost();
  for (unsigned value : plan.valuesOf(op))
    cost += plan.valueCost(value);
  return cost;
}

/// The gain of the chain that begins with one label of `op`; 0 where the op's
/// rule does not allow it, and where it gained nothing before, would not go
/// further now, and all that it came across is as it was.
static double tryLabel(Plan &plan, Frontier &frontier, unsigned op, AxisId axis,
                       unsigned label, double slack) {
  ChoiceIndex index =
      plan.getTables().classOf(op).withLabel(plan.choiceOf(op), axis, label);
  TryId id{0, op, axis, label};
  double mostLost = slack * atStake(plan, op);
  if (plan.isFailure(id, mostLost))
    return 0;
  std::optional<double> change = plan.costChange(op, index);
  if (!change)
    return 0;
  frontier.begin(axis);
  Chain chain(plan, frontier);
  double gain = chain.run({op, index, *change}, mostLost);
  if (gain == 0)
    plan.noteFailure(id, frontier.opsSeen(), chain.getLost());
  return gain;
}

static double runRound(Plan &plan, Frontier &frontier, double slack,
                       llvm::ArrayRef<unsigned> seeds) {
  double gain = 0;
  for (unsigned op : seeds) {
    if (!isSeed(plan, op))
      continue;
    const OpClass &opClass = plan.getTables().classOf(op);
    for (AxisId axis = 0; axis < plan.getTables().problem.mesh.axes.size();
         ++axis)
      for (unsigned label = 0; label < opClass.numLabels(axis); ++label)
        if (label != opClass.labelNumber(plan.choiceOf(op), axis))
          gain += tryLabel(plan, frontier, op, axis, label, slack);
  }
  return gain;
}

void assignment::moveChains(Plan &plan, double slack,
                            llvm::ArrayRef<unsigned> seeds) {
  Frontier frontier(plan);
  for (unsigned round = 0; round < plan.getTables().options.maxChainRounds;
       ++round) {
    double gain = runRound(plan, frontier, slack, seeds);
    LDBG() << "  round " << round << " of chains with slack "
           << llvm::format("%g", slack) << " gains "
           << llvm::format("%.0f", gain);
    descend(plan, /*maxSweeps=*/4);
    if (gain < 1e-3)
      return;
  }
}

void assignment::moveChains(Plan &plan, double slack) {
  moveChains(plan, slack,
             llvm::to_vector(
                 llvm::seq<unsigned>(plan.getTables().problem.ops.size())));
}
