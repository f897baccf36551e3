// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Search.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

using namespace shoal;
using namespace shoal::assignment;

/// From how many users of a value a chain chooses its next move.
static constexpr size_t kMostUsers = 16;

namespace {

/// One chain: a forced change on one axis and the moves that follow it.
class Chain {
public:
  Chain(Plan &plan, AxisId axis) : plan(plan), axis(axis) {}
  /// Returns the gain of the prefix that was kept, 0 where none was.
  double run(unsigned seed, unsigned label, double slack);

private:
  struct Candidate {
    ChoiceIndex index;
    double change;
  };
  /// An op next to a moved one, and where the moved one has the axis on the
  /// value that they share.
  struct Neighbour {
    struct Wish {
      unsigned value;
      int location;
    };
    llvm::SmallVector<Wish, 2> wishes;
    /// The best move, where `isKnown`.
    std::optional<Candidate> best;
    bool isKnown = false;
  };

  void move(unsigned op, Candidate candidate);
  void addNeighbours(unsigned op);
  bool fulfils(unsigned op, ChoiceIndex index, const Neighbour &neighbour);
  std::optional<Candidate> findBest(unsigned op, const Neighbour &neighbour);
  /// The cheapest next move of all neighbours; their map's end where none.
  std::map<unsigned, Neighbour>::iterator findNext();

  Plan &plan;
  AxisId axis;
  std::map<unsigned, Neighbour> frontier;
  llvm::DenseSet<unsigned> done;
  std::vector<std::pair<unsigned, ChoiceIndex>> undo;
  double change = 0;
};

} // namespace

void Chain::move(unsigned op, Candidate candidate) {
  undo.emplace_back(op, plan.choiceOf(op));
  plan.move(op, candidate.index);
  change += candidate.change;
  done.insert(op);
  frontier.erase(op);
  addNeighbours(op);
}

/// Where `choice` has the axis on `value`, for each place that it has there.
static llvm::SmallVector<int, 2> locationsOf(const CostTables &tables,
                                             unsigned op, const Choice &choice,
                                             unsigned value, AxisId axis) {
  const AssignmentProblem::Op &graphOp = tables.problem.ops[op];
  llvm::SmallVector<int, 2> locations;
  for (auto [operand, layout] :
       llvm::zip_equal(graphOp.operands, choice.operands))
    if (operand == value)
      locations.push_back(tables.location(layout, axis));
  for (auto [result, layout] : llvm::zip_equal(graphOp.results, choice.results))
    if (result == value)
      locations.push_back(tables.location(layout, axis));
  return locations;
}

void Chain::addNeighbours(unsigned op) {
  for (unsigned value : plan.valuesOf(op)) {
    int location =
        locationsOf(plan.getTables(), op, plan.resolved(op), value, axis)
            .front();
    // No chain moves all users of a value that more ops read, such as weights
    // that all layers share; looking at each of them from each would make the
    // search quadratic.
    for (unsigned other :
         plan.opsNear(value, op, plan.getTables().options.maxMovesPerChain)) {
      if (done.contains(other) ||
          plan.getTables().classOf(other).numLabels(axis) == 1)
        continue;
      Neighbour &neighbour = frontier[other];
      neighbour.wishes.push_back({value, location});
      neighbour.isKnown = false;
    }
  }
}

bool Chain::fulfils(unsigned op, ChoiceIndex index,
                    const Neighbour &neighbour) {
  const Choice *choice = plan.getTables().choice(op, index);
  if (!choice)
    return false;
  return llvm::any_of(neighbour.wishes, [&](const Neighbour::Wish &wish) {
    return llvm::is_contained(
        locationsOf(plan.getTables(), op, *choice, wish.value, axis),
        wish.location);
  });
}

std::optional<Chain::Candidate> Chain::findBest(unsigned op,
                                                const Neighbour &neighbour) {
  const OpClass &opClass = plan.getTables().classOf(op);
  ChoiceIndex current = plan.choiceOf(op);
  std::optional<Candidate> best;
  for (unsigned label = 0; label < opClass.numLabels(axis); ++label) {
    ChoiceIndex next = opClass.withLabel(current, axis, label);
    if (next == current || !fulfils(op, next, neighbour))
      continue;
    double change = *plan.costChange(op, next);
    if (!best || change < best->change)
      best = {next, change};
  }
  return best;
}

std::map<unsigned, Chain::Neighbour>::iterator Chain::findNext() {
  auto best = frontier.end();
  for (auto it = frontier.begin(); it != frontier.end(); ++it) {
    Neighbour &neighbour = it->second;
    if (!neighbour.isKnown) {
      neighbour.best = findBest(it->first, neighbour);
      neighbour.isKnown = true;
    }
    if (neighbour.best && (best == frontier.end() ||
                           neighbour.best->change < best->second.best->change))
      best = it;
  }
  return best;
}

double Chain::run(unsigned seed, unsigned label, double slack) {
  ChoiceIndex start = plan.getTables().classOf(seed).withLabel(
      plan.choiceOf(seed), axis, label);
  std::optional<double> first = plan.costChange(seed, start);
  if (!first)
    return 0;
  double atStake = plan.resolved(seed).cost();
  for (unsigned value : plan.valuesOf(seed))
    atStake += plan.valueCost(value);

  double best = -kMinGain;
  size_t keep = 0;
  move(seed, {start, *first});
  while (true) {
    if (change < best)
      best = change, keep = undo.size();
    if (undo.size() >= plan.getTables().options.maxMovesPerChain ||
        change > slack * atStake)
      break;
    auto next = findNext();
    if (next == frontier.end())
      break;
    move(next->first, *next->second.best);
  }
  for (; undo.size() > keep; undo.pop_back())
    plan.move(undo.back().first, undo.back().second);
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

static double runRound(Plan &plan, double slack) {
  double gain = 0;
  for (unsigned op = 0; op < plan.getTables().problem.ops.size(); ++op) {
    if (!isSeed(plan, op))
      continue;
    const OpClass &opClass = plan.getTables().classOf(op);
    for (AxisId axis = 0; axis < plan.getTables().problem.mesh.axes.size();
         ++axis)
      for (unsigned label = 0; label < opClass.numLabels(axis); ++label)
        if (label != opClass.labelNumber(plan.choiceOf(op), axis))
          gain += Chain(plan, axis).run(op, label, slack);
  }
  return gain;
}

void assignment::moveChains(Plan &plan, double slack) {
  for (unsigned round = 0; round < plan.getTables().options.maxChainRounds;
       ++round) {
    double gain = runRound(plan, slack);
    descend(plan, /*maxSweeps=*/4);
    if (gain < 1e-3)
      return;
  }
}
