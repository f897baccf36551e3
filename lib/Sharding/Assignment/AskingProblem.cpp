// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AskingProblem.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;
using namespace shoal::assignment;

bool assignment::isHint(const AssignmentProblem::Op &op) {
  return op.constraint && op.constraint->isHint;
}

AssignmentProblem assignment::withoutHints(const AssignmentProblem &problem) {
  AssignmentProblem binding = problem;
  for (AssignmentProblem::Op &op : binding.ops)
    if (isHint(op))
      op.constraint.reset();
  return binding;
}

AssignmentProblem
assignment::withBindingHints(const AssignmentProblem &problem) {
  AssignmentProblem binding = problem;
  for (AssignmentProblem::Op &op : binding.ops)
    if (isHint(op)) {
      op.constraint->isHint = false;
      op.rule.linearIn.clear(); // an annotation takes no partial sum
    }
  return binding;
}

/// Of an axis that the op's annotation names: the dimension that it asks for.
static std::optional<Label> askedLabel(const AssignmentProblem::Op &op,
                                       AxisId axis) {
  if (op.constraint)
    for (auto [d, dim] : llvm::enumerate(op.constraint->dims))
      if (llvm::is_contained(dim.axes, axis))
        return Label{Label::Factor, unsigned(d)};
  return std::nullopt;
}

/// The label of an axis in `plan`; of one that an annotation names, what it
/// asks for.
static Label labelOf(const Plan &plan, unsigned op, AxisId axis) {
  CostTables &tables = plan.getTables();
  if (std::optional<Label> asked = askedLabel(tables.problem.ops[op], axis))
    return *asked;
  return tables.classOf(op).label(plan.choiceOf(op), axis);
}

bool assignment::followsHints(const Plan &plan,
                              const AssignmentProblem &given) {
  for (unsigned op = 0; op < given.ops.size(); ++op) {
    if (!isHint(given.ops[op]))
      continue;
    const OpClass &opClass = plan.getTables().classOf(op);
    for (AxisId axis = 0; axis < given.mesh.axes.size(); ++axis) {
      if (opClass.label(plan.choiceOf(op), axis) !=
          askedLabel(given.ops[op], axis).value_or(Label()))
        return false;
    }
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Choices of one plan for another
//===----------------------------------------------------------------------===//

/// The choice of `tables` with these labels, as far as the op has them; the
/// first where the rule does not allow it.
static ChoiceIndex findLabels(CostTables &tables, unsigned op,
                              llvm::function_ref<Label(AxisId)> labelOf) {
  const OpClass &opClass = tables.classOf(op);
  ChoiceIndex index = 0;
  for (AxisId axis = 0; axis < tables.problem.mesh.axes.size(); ++axis)
    for (unsigned number = 0; number < opClass.numLabels(axis); ++number) {
      ChoiceIndex next = opClass.withLabel(index, axis, number);
      if (opClass.label(next, axis) == labelOf(axis))
        index = next;
    }
  return tables.choice(op, index) ? index : 0;
}

std::vector<ChoiceIndex>
assignment::copyChoices(CostTables &tables, const Plan &plan,
                        llvm::ArrayRef<unsigned> standIns) {
  std::vector<ChoiceIndex> choices;
  for (auto [op, standIn] : llvm::enumerate(standIns))
    choices.push_back(findLabels(tables, op, [&, other = standIn](AxisId axis) {
      return labelOf(plan, other, axis);
    }));
  return choices;
}

static Label labelIn(const FactorSharding &sharding, AxisId axis) {
  for (auto [factor, axes] : llvm::enumerate(sharding.axes))
    if (llvm::is_contained(axes, axis))
      return {Label::Factor, unsigned(factor)};
  for (const FactorSharding::Pass &pass : sharding.passes)
    if (pass.axis == axis)
      return {Label::Pass, pass.set};
  return {};
}

std::vector<ChoiceIndex>
assignment::findChoices(CostTables &tables,
                        llvm::ArrayRef<FactorSharding> shardings) {
  std::vector<ChoiceIndex> choices;
  choices.reserve(shardings.size());
  for (unsigned op = 0; op < shardings.size(); ++op)
    choices.push_back(findLabels(
        tables, op, [&](AxisId axis) { return labelIn(shardings[op], axis); }));
  return choices;
}
