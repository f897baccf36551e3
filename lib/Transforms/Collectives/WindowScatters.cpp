// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// reduce_scatter(einsum): the sum of each block starts at the device behind the
// one that is to have it and goes round to it, each device adding its part.

#include "WindowedEinsum.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Shoal/IR/LocationNotes.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

using namespace mlir;
using namespace shoal;

ScatterWindow::ScatterWindow(spmd::ReduceScatterOp op) : op(op) {
  AxesPerDim lists = toLists(op.getAxes());
  if (std::optional<int64_t> only = findOnlyDim(lists)) {
    dim = *only;
    axes = lists[dim];
    count = sizeOf(axes, lookupMesh(op, op.getMeshAttr()).getMesh());
  }
}

BlockedEinsum ScatterWindow::einsum() {
  return BlockedEinsum(op.getInput().getDefiningOp<EinsumOp>(), Value(), dim,
                       count);
}

std::optional<Obstacle> ScatterWindow::findObstacle() {
  auto source = op.getInput().getDefiningOp<EinsumOp>();
  if (!source)
    return Obstacle{"its operand is the result of a loop already"};
  if (op.getKind() != ReduceKind::Sum)
    return Obstacle{"it does not sum"};
  if (dim < 0)
    return Obstacle{"it scatters several dimensions"};
  if (sizeInBytes(op.getType()) == 0 || count < 2)
    return Obstacle{"devices have nothing to send"};
  for (Operation *user : source->getUsers())
    if (user != op)
      return Obstacle{"the einsum's result has another user", user->getLoc()};
  if (source->getBlock() != op->getBlock())
    return Obstacle{"the einsum is in another region", source.getLoc()};
  return einsum().findObstacle();
}

int64_t ScatterWindow::heldBytes() {
  BlockedEinsum blocked = einsum();
  // The sum that comes in, and, where there is a loop, the one that goes on;
  // the last one is the result, which is there in any case.
  int64_t sums = sizeInBytes(op.getType()) * (count > 2 ? 2 : 1);
  return sums + blocked.stepBytes() + blocked.preparedBytes();
}

void ScatterWindow::rewrite() {
  BlockedEinsum blocked = einsum();
  EinsumOp source = blocked.getOp();
  // The steps of the loop are not the values that the ops are known for.
  std::optional<LayoutNote> note =
      takeLayoutNote(cast<OpResult>(op.getResult()));
  takeLayoutNote(cast<OpResult>(source.getResult()));
  OpBuilder builder(op);
  Type element = tensorTypeOf(op.getResult()).getElementType();
  Type wide = getAccumulator(ReduceKind::Sum, element);
  Ring ring(builder, op.getLoc(), op.getMeshAttr(),
            AxesAttr::get(op.getContext(), axes), count);
  SmallVector<Value> prepared = blocked.prepare(builder);
  auto partAt = [&](Value step) {
    return blocked.emit(builder, Value(), ring.indexAt(step, count - 1),
                        prepared);
  };
  Value sum =
      convert(builder, source.getLoc(), partAt(ring.number(0)), element);
  sum = ring.loop(1, count, sum, [&](Value step, ValueRange carried) {
    Value come = ring.pass(carried.front(), op.getWhyAttr());
    Value all = createCombiner(builder, source.getLoc(), ReduceKind::Sum,
                               convert(builder, source.getLoc(), come, wide),
                               partAt(step));
    return SmallVector<Value>{convert(builder, source.getLoc(), all, element)};
  })[0];
  if (note)
    noteLayout(cast<OpResult>(sum), *note);
  op.replaceAllUsesWith(sum);
  op.erase();
  source.erase();
}
