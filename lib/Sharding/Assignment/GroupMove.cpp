// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GroupMove.h"
#include "Search.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/Format.h"

#define DEBUG_TYPE "shoal-assign"

using namespace shoal;
using namespace shoal::assignment;

int64_t assignment::numElements(const AssignmentProblem &problem,
                                unsigned value) {
  int64_t count = 1;
  for (int64_t size : problem.values[value].shape)
    count *= size;
  return count;
}

ValueOps::ValueOps(const AssignmentProblem &problem)
    : makerOf(problem.values.size()), usersOf(problem.values.size()) {
  for (auto [id, op] : llvm::enumerate(problem.ops)) {
    for (unsigned value : op.results)
      makerOf[value] = id;
    for (unsigned value : op.operands)
      usersOf[value].push_back(id);
  }
}

std::optional<ChoiceIndex> assignment::findChoiceAt(Plan &plan, unsigned op,
                                                    AxisId axis, int location) {
  CostTables &tables = plan.getTables();
  const OpClass &opClass = tables.classOf(op);
  for (unsigned label = 0; label < opClass.numLabels(axis); ++label) {
    ChoiceIndex index = opClass.withLabel(plan.choiceOf(op), axis, label);
    const Choice *choice = tables.choice(op, index);
    if (choice && tables.location(choice->results[0], axis) == location)
      return index;
  }
  return std::nullopt;
}

bool GroupMove::couldGain() const {
  return llvm::any_of(group, [&](unsigned op) {
    return llvm::any_of(plan.valuesOf(op), [&](unsigned value) {
      return plan.valueCost(value) > 0;
    });
  });
}

void GroupMove::move(unsigned op, ChoiceIndex index) {
  if (index == plan.choiceOf(op))
    return;
  change += *plan.costChange(op, index);
  trial.move(op, index);
}

/// What is better off otherwise than the group goes back: sums of partial sums
/// stay partial.
void GroupMove::descend() {
  constexpr unsigned kSweeps = 2;
  for (unsigned sweep = 0; sweep < kSweeps; ++sweep) {
    size_t before = trial.size();
    for (unsigned op : group)
      if (std::optional<ChoiceIndex> next = plan.findBestChange(op))
        move(op, *next);
    if (trial.size() == before)
      return;
  }
}

double
GroupMove::run(const TryId &id,
               llvm::function_ref<std::optional<ChoiceIndex>(size_t)> want) {
  if (plan.isFailure(id))
    return 0;
  trial.begin();
  change = 0;
  for (auto [place, op] : llvm::enumerate(group))
    if (std::optional<ChoiceIndex> index = want(place))
      move(op, *index);
  if (trial.size() == 0)
    return 0;
  [[maybe_unused]] double before = change;
  descend();
  LDBG(2) << "group of " << group.size() << " ops from op " << group[0] << ": "
          << llvm::format("%.0f, %.0f behind the descent", before, change);
  if (change < -kMinGain)
    return -change;
  trial.takeBack();
  plan.noteFailure(id, group);
  return 0;
}
