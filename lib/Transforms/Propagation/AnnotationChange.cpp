// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "AnnotationChange.h"
#include "AnnotationText.h"
#include "Copies.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;

bool shoal::canAnnotate(const ExtractedProblem &extracted, unsigned value) {
  if (!extracted.problem.values[value].manualAxes.empty())
    return false;
  auto argument = dyn_cast<BlockArgument>(extracted.values[value]);
  return !argument ||
         isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
}

/// The op of the problem that makes the value.
static unsigned makerOf(const AssignmentProblem &problem, unsigned value) {
  return llvm::find_if(problem.ops,
                       [&](const AssignmentProblem::Op &op) {
                         return llvm::is_contained(op.results, value);
                       }) -
         problem.ops.begin();
}

std::string shoal::describeChange(const ExtractedProblem &extracted,
                                  const AnnotationChange &change) {
  if (change.freed)
    return "without " + describeAnnotation(extracted, *change.freed);
  unsigned maker = makerOf(extracted.problem, change.value);
  std::string text =
      "with " +
      textOf(extracted, change.sharding,
             extracted.problem.ops[maker].deviceOrder, change.value) +
      " on ";
  auto result = dyn_cast<OpResult>(extracted.values[change.value]);
  if (result && result.getOwner()->getNumResults() > 1)
    text += "result " + std::to_string(result.getResultNumber()) + " of ";
  return text + extracted.describe(maker);
}

static FactorSharding axesOf(const Sharding &sharding) {
  FactorSharding axes;
  axes.axes.assign(sharding.dims.begin(), sharding.dims.end());
  return axes;
}

ChangedProblem shoal::changeProblem(const ExtractedProblem &extracted,
                                    const Assignment &assignment,
                                    const AnnotationChange &change) {
  ChangedProblem changed{extracted.problem, assignment.ops};
  auto &[mesh, orders, values, ops] = changed.problem;
  if (change.freed) {
    changed.op = *change.freed;
    ops[changed.op].constraint.reset();
    return changed;
  }
  unsigned maker = makerOf(extracted.problem, change.value);
  unsigned annotated = values.size();
  values.push_back(values[change.value]);
  for (AssignmentProblem::Op &op : ops)
    llvm::replace(op.operands, change.value, annotated);
  AssignmentProblem::Op own;
  own.rule = FactorRuleBuilder::elementwise(values[change.value].shape,
                                            /*numOperands=*/1);
  own.operands = {change.value};
  own.results = {annotated};
  own.deviceOrder = ops[maker].deviceOrder;
  own.weight = ops[maker].weight;
  own.label = "annotation";
  own.constraint.emplace();
  for (const AxisList &axes : change.sharding.dims)
    own.constraint->dims.push_back({axes});
  changed.op = maker + 1;
  ops.insert(ops.begin() + changed.op, std::move(own));
  changed.start.insert(changed.start.begin() + changed.op,
                       axesOf(change.sharding));
  return changed;
}

//===----------------------------------------------------------------------===//
// As a program
//===----------------------------------------------------------------------===//

static void leaveOut(ChangedProgram &changed, const ProblemOp &origin,
                     const ProgramNumbers &numbers) {
  if (origin.isArgument()) {
    changed.function.removeArgAttr(origin.index, kShardingAttr);
    return;
  }
  if (origin.isResult) {
    changed.function.removeResultAttr(
        origin.index,
        StringAttr::get(changed.function.getContext(), kShardingAttr));
    return;
  }
  auto annotation = cast<ShardingConstraintOp>(
      changed.numbers.op(numbers.numberOf(origin.op)));
  annotation.getResult().replaceAllUsesWith(annotation.getInput());
  annotation.erase();
}

static void annotate(ChangedProgram &changed, Value value,
                     ShardingAttr sharding) {
  OpBuilder builder(changed.function.getContext());
  builder.setInsertionPointAfterValue(value);
  auto annotation =
      ShardingConstraintOp::create(builder, value.getLoc(), value.getType(),
                                   value, sharding, /*hint=*/nullptr);
  value.replaceAllUsesExcept(annotation.getResult(), annotation);
  changed.numbers.alias(annotation.getResult(),
                        changed.numbers.numberOf(value));
}

ChangedProgram shoal::changeProgram(ModuleOp imported,
                                    const ExtractedProblem &extracted,
                                    const ProgramNumbers &numbers,
                                    const Copies &copies,
                                    const AnnotationChange &change) {
  OwningOpRef<ModuleOp> module = imported.clone();
  func::FuncOp own = extracted.function;
  auto function = module->lookupSymbol<func::FuncOp>(own.getSymName());
  ChangedProgram changed{std::move(module), function, ProgramNumbers(function)};
  if (change.freed) {
    leaveOut(changed, extracted.ops[*change.freed], numbers);
    return changed;
  }
  unsigned maker = makerOf(extracted.problem, change.value);
  Value annotated = extracted.values[change.value];
  if (auto result = dyn_cast<OpResult>(annotated))
    annotated =
        copies.sourceOf(result.getOwner())->getResult(result.getResultNumber());
  annotate(changed, changed.numbers.value(numbers.placeOf(annotated)),
           extracted.toAttr(change.sharding,
                            extracted.problem.ops[maker].deviceOrder,
                            change.value));
  return changed;
}
