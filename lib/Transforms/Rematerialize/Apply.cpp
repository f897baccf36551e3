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

/// What repeats read that is saved, and the views through which they do, each
/// behind those that it reads.
struct Read {
  llvm::SetVector<mlir::Value> saved;
  llvm::SetVector<Operation *> views;
};

class Applier {
public:
  explicit Applier(ExtractedStep &step)
      : step(step), builder(step.ops.front()->getContext()) {
    for (auto [number, op] : llvm::enumerate(step.ops))
      numbers[op] = number;
  }

  void run(const Schedule &schedule);
  void convertAgain();

private:
  void repeat(ArrayRef<Step> steps, Operation *before);
  Read findRead(ArrayRef<Step> steps);
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

/// A view is made again, too: what it is a view of is held, and may be smaller.
Read Applier::findRead(ArrayRef<Step> steps) {
  llvm::DenseSet<mlir::Value> made;
  for (const Step &each : steps)
    made.insert_range(step.ops[each.op]->getResults());
  Read read;
  auto visit = [&](auto &&self, mlir::Value value) -> void {
    if (made.contains(value) || repeated.contains(value) || isConstant(value))
      return;
    Operation *maker = value.getDefiningOp();
    if (!maker || !step.graph.ops[numbers.at(maker)].isView) {
      read.saved.insert(value);
      return;
    }
    for (mlir::Value operand : maker->getOperands())
      self(self, operand);
    read.views.insert(maker);
  };
  for (const Step &each : steps)
    for (mlir::Value operand : step.ops[each.op]->getOperands())
      visit(visit, operand);
  return read;
}

/// The values that the repeats read and that are none themselves, behind a
/// barrier.
IRMapping Applier::keepApart(ArrayRef<Step> steps) {
  Read read = findRead(steps);
  IRMapping mapping = repeated;
  if (read.saved.empty())
    return mapping;
  auto barrier = OptimizationBarrierOp::create(
      builder, step.ops[steps.front().op]->getLoc(),
      ValueRange(read.saved.getArrayRef()).getTypes(),
      read.saved.getArrayRef());
  mapping.map(read.saved.getArrayRef(), barrier.getResults());
  for (Operation *view : read.views)
    builder.clone(*view, mapping);
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

/// Whether the view has the elements of its operand in a wider type.
static bool widens(const GraphOp &view, Operation *op) {
  if (!view.isView || op->getNumOperands() != 1 || op->getNumResults() != 1)
    return false;
  auto from = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return from && to && from.getShape() == to.getShape() &&
         from.getElementTypeBitWidth() < to.getElementTypeBitWidth();
}

/// Backward ops convert what is saved for themselves: a loop of the forward
/// pass that converts it, too, would else store the wide value for them.
void Applier::convertAgain() {
  for (auto [number, op] : llvm::enumerate(step.ops)) {
    if (step.graph.ops[number].isBackward ||
        !widens(step.graph.ops[number], op) || isConstant(op->getOperand(0)))
      continue;
    Operation *first = nullptr;
    for (Operation *user : op->getUsers()) {
      user = op->getBlock()->findAncestorOpInBlock(*user);
      auto reader = numbers.find(user);
      if (reader != numbers.end() &&
          step.graph.ops[reader->second].isBackward &&
          (!first || user->isBeforeInBlock(first)))
        first = user;
    }
    if (!first)
      continue;
    builder.setInsertionPoint(first);
    auto barrier = OptimizationBarrierOp::create(
        builder, op->getLoc(), op->getOperandTypes(), op->getOperands());
    IRMapping mapping;
    mapping.map(op->getOperands(), barrier.getResults());
    redirect(op, builder.clone(*op, mapping));
  }
}

void shoal::remat::applySchedule(ExtractedStep &step,
                                 const Schedule &schedule) {
  Applier applier(step);
  applier.run(schedule);
  applier.convertAgain();
  for (Operation *op : llvm::reverse(step.ops))
    if (isOpTriviallyDead(op))
      op->erase();
}
