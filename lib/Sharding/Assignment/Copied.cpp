// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Search.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;
using namespace shoal::assignment;

/// The choice of the op that makes its result where `needed` is, axis by axis,
/// as far as it can.
static ChoiceIndex findMaking(const Plan &plan, unsigned op, LayoutId needed) {
  CostTables &tables = plan.getTables();
  const OpClass &opClass = tables.classOf(op);
  ChoiceIndex index = plan.choiceOf(op);
  for (AxisId axis = 0; axis < tables.problem.mesh.axes.size(); ++axis)
    for (unsigned label = 0; label < opClass.numLabels(axis); ++label) {
      ChoiceIndex next = opClass.withLabel(index, axis, label);
      const Choice *choice = tables.choice(op, next);
      if (choice && tables.location(choice->results[0], axis) ==
                        tables.location(needed, axis)) {
        index = next;
        break;
      }
    }
  return index;
}

namespace {
/// One chain of copies, from the last one on.
class ChainTrial {
public:
  ChainTrial(Plan &plan, const ValueOps &valueOps,
             const llvm::DenseSet<unsigned> &copies)
      : plan(plan), valueOps(valueOps), copies(copies), trial(plan) {}
  void run(unsigned last);

private:
  bool make(unsigned op);

  Plan &plan;
  const ValueOps &valueOps;
  const llvm::DenseSet<unsigned> &copies;
  Trial trial;
  ChangeSum change;
};
} // namespace

/// False where it is made as it is needed already.
bool ChainTrial::make(unsigned op) {
  unsigned value = plan.getTables().problem.ops[op].results[0];
  llvm::SmallVector<LayoutId, 4> layouts = plan.layoutsOf(value);
  auto needed = llvm::drop_begin(layouts);
  const auto *other =
      llvm::find_if(needed, [&](LayoutId id) { return id != layouts[0]; });
  if (other == needed.end())
    return false;
  ChoiceIndex index = findMaking(plan, op, *other);
  if (index == plan.choiceOf(op))
    return false;
  change.add(*plan.costChange(op, index));
  trial.move(op, index);
  return true;
}

void ChainTrial::run(unsigned last) {
  llvm::SmallVector<unsigned> work = {last};
  for (size_t next = 0; next < work.size(); ++next) {
    if (!make(work[next]))
      continue;
    for (unsigned operand : plan.getTables().problem.ops[work[next]].operands)
      if (unsigned maker = valueOps.makerOf[operand]; copies.contains(maker))
        work.push_back(maker);
  }
  if (!change.gains())
    trial.takeBack();
}

void assignment::makeAsNeeded(Plan &plan, llvm::ArrayRef<unsigned> copies) {
  const AssignmentProblem &problem = plan.getTables().problem;
  ValueOps valueOps(problem);
  llvm::DenseSet<unsigned> all(copies.begin(), copies.end());
  for (unsigned op : copies) {
    if (problem.ops[op].results.size() != 1)
      continue;
    bool isLast =
        llvm::none_of(valueOps.usersOf[problem.ops[op].results[0]],
                      [&](unsigned user) { return all.contains(user); });
    if (isLast)
      ChainTrial(plan, valueOps, all).run(op);
  }
}
