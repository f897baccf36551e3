// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LiveValues.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"

using namespace mlir;
using namespace shoal;

bool shoal::isReshape(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op);
}

Value shoal::viewBy(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<OptimizationBarrierOp>(op))
    return op->getResult(use.getOperandNumber());
  return isReshape(op) ? op->getResult(0) : Value();
}

bool shoal::holdsNothing(Operation *op) {
  return isReshape(op) || isa<tensor::EmptyOp, OptimizationBarrierOp>(op) ||
         op->hasTrait<OpTrait::ConstantLike>();
}

LiveValues::LiveValues(Block &block) : block(block) {
  for (Operation &op : block)
    places[&op] = static_cast<int64_t>(places.size());
}

int64_t LiveValues::lastUse(Value value) const {
  Operation *maker = value.getDefiningOp();
  if (maker ? maker->hasTrait<OpTrait::ConstantLike>()
            : !isDonated(cast<BlockArgument>(value)))
    return INT64_MAX;
  int64_t last = maker ? placeOf(maker) : 0;
  for (OpOperand &use : value.getUses()) {
    Value view = viewBy(use);
    last = std::max(last, view ? lastUse(view) : placeOf(use.getOwner()));
  }
  return last;
}

std::pair<int64_t, int64_t> LiveValues::findPeak() const {
  SmallVector<int64_t> changes(places.size() + 1, 0);
  for (Operation &op : block) {
    if (holdsNothing(&op))
      continue;
    for (Value result : op.getResults()) {
      changes[placeOf(&op)] += bytesOf(result);
      changes[lastUse(result) + 1] -= bytesOf(result);
    }
  }
  int64_t held = 0, peak = 0, most = 0;
  for (auto [place, change] : llvm::enumerate(changes)) {
    held += change;
    if (held > most) {
      most = held;
      peak = static_cast<int64_t>(place);
    }
  }
  return {peak, most};
}
