// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Moves.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/Format.h"

#define DEBUG_TYPE "shoal-assign"

using namespace shoal;
using namespace shoal::assignment;

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

namespace {
struct MoveSource {
  llvm::StringLiteral name;
  std::vector<Move> (*find)(const AssignmentProblem &problem);
};
} // namespace

static constexpr MoveSource kSources[] = {
    {"elementwise groups", findElementwiseMoves},
    {"kept rows", findKeptRowMoves},
    {"dimensions", findDimensionMoves},
};

std::vector<FoundMoves>
assignment::findMoves(const AssignmentProblem &problem) {
  std::vector<FoundMoves> all;
  for (auto [number, source] : llvm::enumerate(kSources))
    all.push_back({source.name, unsigned(number) + 1, source.find(problem)});
  return all;
}

//===----------------------------------------------------------------------===//
// Trials
//===----------------------------------------------------------------------===//

namespace {
/// One move along one axis.
class MoveTrial {
public:
  MoveTrial(Plan &plan, const Move &move, AxisId axis)
      : plan(plan), move(move), axis(axis), trial(plan) {}
  /// Returns the gain; 0, and nothing is changed, where there is none.
  double run();

private:
  std::optional<ChoiceIndex> findChoice(unsigned op,
                                        llvm::ArrayRef<Want> wants) const;
  std::optional<ChoiceIndex> findCheapest(unsigned op, const Want &want) const;
  bool grants(unsigned op, ChoiceIndex index, const Want &want) const;
  void take(unsigned op, ChoiceIndex index);
  void descend();

  Plan &plan;
  const Move &move;
  AxisId axis;
  Trial trial;
  ChangeSum change;
};
} // namespace

bool MoveTrial::grants(unsigned op, ChoiceIndex index, const Want &want) const {
  CostTables &tables = plan.getTables();
  const Choice *choice = tables.choice(op, index);
  if (!choice)
    return false;
  if (want.location)
    return tables.location(choice->results[0], axis) == *want.location;
  return llvm::is_contained(want.labels, tables.classOf(op).label(index, axis));
}

std::optional<ChoiceIndex> MoveTrial::findCheapest(unsigned op,
                                                   const Want &want) const {
  const OpClass &opClass = plan.getTables().classOf(op);
  llvm::SmallVector<ChoiceIndex, 8> granting;
  for (unsigned label = 0; label < opClass.numLabels(axis); ++label)
    if (ChoiceIndex index = opClass.withLabel(plan.choiceOf(op), axis, label);
        grants(op, index, want))
      granting.push_back(index);
  auto best =
      plan.findCheapest(op, granting, std::numeric_limits<double>::infinity());
  if (!best)
    return std::nullopt;
  return best->index;
}

/// Nothing where the op stays as it is.
std::optional<ChoiceIndex>
MoveTrial::findChoice(unsigned op, llvm::ArrayRef<Want> wants) const {
  for (const Want &want : wants) {
    if (grants(op, plan.choiceOf(op), want))
      return std::nullopt;
    if (std::optional<ChoiceIndex> best = findCheapest(op, want))
      return best;
  }
  return std::nullopt;
}

void MoveTrial::take(unsigned op, ChoiceIndex index) {
  change.add(*plan.costChange(op, index));
  trial.move(op, index);
}

/// What is better off otherwise goes back: sums of partial sums stay partial.
void MoveTrial::descend() {
  constexpr unsigned kSweeps = 2;
  for (unsigned sweep = 0; sweep < kSweeps; ++sweep) {
    size_t before = trial.size();
    for (unsigned op : move.ops)
      if (std::optional<ChoiceIndex> next = plan.findBestChange(op))
        take(op, *next);
    if (trial.size() == before)
      return;
  }
}

double MoveTrial::run() {
  for (auto [op, wants] : llvm::zip_equal(move.ops, move.wants))
    if (std::optional<ChoiceIndex> index = findChoice(op, wants))
      take(op, *index);
  if (trial.size() == 0)
    return 0;
  descend();
  if (change.gains())
    return -change.get();
  trial.takeBack();
  return 0;
}

/// Whether one of the move's values is sent; else none gains.
static bool couldGain(const Plan &plan, const Move &move) {
  return llvm::any_of(move.ops, [&](unsigned op) {
    return llvm::any_of(plan.valuesOf(op), [&](unsigned value) {
      return plan.valueCost(value) > 0;
    });
  });
}

double assignment::tryMoves(Plan &plan, const FoundMoves &found) {
  double gain = 0;
  for (auto [number, move] : llvm::enumerate(found.moves)) {
    if (!couldGain(plan, move))
      continue;
    for (AxisId axis = 0; axis < plan.getTables().problem.mesh.axes.size();
         ++axis) {
      TryId id{found.source, unsigned(number), axis};
      if (plan.isFailure(id))
        continue;
      double own = MoveTrial(plan, move, axis).run();
      gain += own;
      if (own == 0)
        plan.noteFailure(id, move.ops);
      else
        LDBG(2) << found.name << " of " << move.ops.size() << " ops from op "
                << move.ops[0] << " gain " << llvm::format("%.0f", own);
    }
  }
  LDBG() << "  " << found.name << " gain " << llvm::format("%.0f", gain);
  return gain;
}
