// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Apply.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::remat;

namespace {

class Applier {
public:
  explicit Applier(ExtractedStep &step)
      : step(step), builder(step.ops.front()->getContext()) {
    for (auto [number, op] : llvm::enumerate(step.ops))
      numbers[op] = number;
  }

  void run(const Schedule &schedule);

private:
  void repeat(ArrayRef<Step> steps, Operation *before);
  IRMapping keepApart(ArrayRef<Step> steps);
  void redirect(Operation *original, Operation *clone);

  ExtractedStep &step;
  OpBuilder builder;
  llvm::DenseMap<Operation *, unsigned> numbers;
  /// What each value that was computed again is in the backward pass.
  IRMapping repeated;
};

} // namespace

/// Whether it is as good anywhere: equal ones may be merged.
static bool isConstant(mlir::Value value) {
  Operation *maker = value.getDefiningOp();
  return maker && maker->getNumOperands() == 0;
}

/// The values that the repeats read and that are none themselves, behind a
/// barrier.
IRMapping Applier::keepApart(ArrayRef<Step> steps) {
  llvm::SetVector<mlir::Value> saved;
  for (const Step &each : steps)
    for (mlir::Value operand : step.ops[each.op]->getOperands())
      if (!repeated.contains(operand) && !isConstant(operand))
        saved.insert(operand);
  for (const Step &each : steps)
    for (mlir::Value result : step.ops[each.op]->getResults())
      saved.remove(result);
  IRMapping mapping = repeated;
  if (saved.empty())
    return mapping;
  auto barrier = OptimizationBarrierOp::create(
      builder, step.ops[steps.front().op]->getLoc(),
      ValueRange(saved.getArrayRef()).getTypes(), saved.getArrayRef());
  mapping.map(saved.getArrayRef(), barrier.getResults());
  return mapping;
}

/// Backward ops, and what is in their regions, read the clone.
void Applier::redirect(Operation *original, Operation *clone) {
  Block *block = original->getBlock();
  for (auto [from, to] :
       llvm::zip_equal(original->getResults(), clone->getResults()))
    from.replaceUsesWithIf(to, [&](OpOperand &use) {
      auto number = numbers.find(block->findAncestorOpInBlock(*use.getOwner()));
      return number != numbers.end() &&
             step.graph.ops[number->second].isBackward;
    });
}

void Applier::repeat(ArrayRef<Step> steps, Operation *before) {
  builder.setInsertionPoint(before);
  IRMapping mapping = keepApart(steps);
  for (const Step &each : steps) {
    Operation *original = step.ops[each.op];
    Operation *clone = builder.clone(*original, mapping);
    repeated.map(original->getResults(), clone->getResults());
    redirect(original, clone);
  }
}

void Applier::run(const Schedule &schedule) {
  ArrayRef<Step> steps = schedule.steps;
  while (!steps.empty()) {
    ArrayRef<Step> again =
        steps.take_while([](const Step &each) { return each.isRepeat; });
    if (!again.empty())
      repeat(again, step.ops[steps[again.size()].op]);
    steps = steps.drop_front(again.size() + 1);
  }
}

void shoal::remat::applySchedule(ExtractedStep &step,
                                 const Schedule &schedule) {
  Applier(step).run(schedule);
  for (Operation *op : llvm::reverse(step.ops))
    if (isOpTriviallyDead(op))
      op->erase();
}
