// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReversedLoops.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "shoal/Dialect/Shoal/IR/TensorBuilder.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::remat;

namespace {

/// Writes values of the first loop's step into the other loop's.
class RowWriter {
public:
  RowWriter(ReversedLoop &loop, ArrayRef<Stack> kept) : loop(loop) {
    for (const Stack &stack : kept)
      stacks.try_emplace(stack.value, &stack);
  }

  /// Replaces the read of a row.
  void replace(DynamicSliceOp read, const Stack &stack);

private:
  mlir::Value make(mlir::Value value);
  mlir::Value read(const Stack &stack);

  ReversedLoop &loop;
  llvm::DenseMap<mlir::Value, const Stack *> stacks;
  IRMapping made;
  std::optional<TensorBuilder> b;
};

} // namespace

mlir::Value RowWriter::read(const Stack &stack) {
  auto type = cast<RankedTensorType>(stack.row.getType());
  SmallVector<mlir::Value> starts(type.getRank(),
                                  b->zeros(loop.step.getType()));
  starts.front() = loop.step;
  mlir::Value row = DynamicSliceOp::create(
      *b, type, loop.forward.getResult(stack.number), starts, type.getShape());
  return stack.value.getType() == row.getType()
             ? row
             : ReshapeOp::create(*b, stack.value.getType(), row).getResult();
}

/// The value in the step whose rows are read, operands first.
mlir::Value RowWriter::make(mlir::Value value) {
  if (mlir::Value before = made.lookupOrNull(value))
    return before;
  Operation *maker = value.getDefiningOp();
  auto argument = dyn_cast<BlockArgument>(value);
  bool isInside = value.getParentBlock() == &loop.forwardBody();
  mlir::Value result;
  if (!isInside) {
    result = value;
  } else if (const Stack *stack = stacks.lookup(value)) {
    result = read(*stack);
  } else if (argument) {
    int64_t first = *countsFrom(loop.forward, argument);
    result = first == 0
                 ? loop.step
                 : b->add(loop.step, b->splat(loop.step.getType(), first));
  } else {
    for (mlir::Value operand : maker->getOperands())
      make(operand);
    b->clone(*maker, made);
    return made.lookup(value);
  }
  made.map(value, result);
  return result;
}

/// A read, with the views of it, stands in front of the first op that needs it.
static void sink(Operation *op) {
  Operation *first = nullptr;
  for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
    Operation *around = op->getBlock()->findAncestorOpInBlock(*user);
    if (isa<ViewLikeOpInterface>(around))
      sink(around);
    if (!first || around->isBeforeInBlock(first))
      first = around;
  }
  if (first)
    op->moveBefore(first);
}

void RowWriter::replace(DynamicSliceOp read, const Stack &stack) {
  OpBuilder builder(read);
  b.emplace(read.getLoc(), builder);
  mlir::Value value = make(stack.value);
  if (value.getType() != read.getType())
    value = ReshapeOp::create(*b, read.getType(), value);
  read.replaceAllUsesWith(value);
  read.erase();
  b.reset();
}

void shoal::remat::dropStacks(ReversedLoop &loop, ArrayRef<Stack> dropped,
                              ArrayRef<Stack> kept) {
  SmallVector<std::pair<DynamicSliceOp, const Stack *>> reads;
  for (const Stack &stack : dropped)
    for (DynamicSliceOp read : stack.reads) {
      sink(read);
      reads.emplace_back(read, &stack);
    }
  // What is made for one read is there for those behind it.
  llvm::sort(reads, [](const auto &a, const auto &b) {
    return a.first->isBeforeInBlock(b.first);
  });
  RowWriter writer(loop, kept);
  for (auto [read, stack] : reads)
    writer.replace(read, *stack);
  removeStacks(loop.forward, dropped);
}
