// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// einsum(all_gather(x)): each device works on the blocks of x in turn, from its
// own one on, while the blocks go round.

#include "WindowedEinsum.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/LocationNotes.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

using namespace mlir;
using namespace shoal;

std::optional<int64_t> shoal::findOnlyDim(const AxesPerDim &axes) {
  int64_t dim = -1;
  for (auto [d, list] : llvm::enumerate(axes)) {
    if (list.empty())
      continue;
    if (dim >= 0)
      return std::nullopt;
    dim = d;
  }
  return dim < 0 ? std::nullopt : std::optional(dim);
}

GatherWindow::GatherWindow(spmd::AllGatherOp op) : op(op) {
  AxesPerDim lists = toLists(op.getAxes());
  if (std::optional<int64_t> only = findOnlyDim(lists)) {
    dim = *only;
    axes = lists[dim];
    count = sizeOf(axes, lookupMesh(op, op.getMeshAttr()).getMesh());
  }
}

/// The einsums that read the gathered value, in program order.
SmallVector<BlockedEinsum> GatherWindow::einsums() {
  SmallVector<EinsumOp> ops;
  for (Operation *user : op->getUsers())
    if (!llvm::is_contained(ops, user))
      ops.push_back(cast<EinsumOp>(user));
  llvm::sort(ops, [](EinsumOp a, EinsumOp b) { return a->isBeforeInBlock(b); });
  return llvm::map_to_vector(ops, [&](EinsumOp einsum) {
    return BlockedEinsum(einsum, op.getResult(), dim, count);
  });
}

/// What the other einsums read and has not been computed at the first one, in
/// program order. Fails where an einsum waits for another one, or something
/// has effects.
static FailureOr<SmallVector<Operation *>>
findLateOperands(ArrayRef<BlockedEinsum> einsums) {
  Operation *first = einsums.front().getOp();
  BackwardSliceOptions options;
  options.omitUsesFromAbove = false;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) {
    return op->getBlock() == first->getBlock() && !op->isBeforeInBlock(first);
  };
  llvm::SetVector<Operation *> late;
  for (const BlockedEinsum &einsum : einsums.drop_front())
    if (failed(getBackwardSlice(einsum.getOp().getOperation(), &late, options)))
      return failure();
  for (const BlockedEinsum &einsum : einsums)
    if (late.contains(einsum.getOp()))
      return failure();
  if (!llvm::all_of(late, isMemoryEffectFree))
    return failure();
  SmallVector<Operation *> ops(late.begin(), late.end());
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ops;
}

std::optional<Obstacle> GatherWindow::findReader() {
  if (op->use_empty())
    return Obstacle{"nothing reads it"};
  for (Operation *user : op->getUsers()) {
    if (!isa<EinsumOp>(user))
      return Obstacle{"not only einsums read it", user->getLoc()};
    if (user->getBlock() != op->getBlock())
      return Obstacle{"an einsum in another region reads it", user->getLoc()};
  }
  return std::nullopt;
}

/// Whether data chooses what runs: loops that are not counted, branches.
static bool hasChoices(Operation *op) {
  auto chooses = [](Operation *inner) {
    auto loop = dyn_cast<WhileOp>(inner);
    bool isCounted = loop && loop.getTripCount();
    return !isCounted && !Uniformity::choosers(inner).empty();
  };
  return op
      ->walk([&](Operation *inner) {
        return chooses(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether devices of the group are to have the same result, and would not.
static std::optional<Obstacle> findEqualityOf(const BlockedEinsum &einsum,
                                              const AxisSet &group,
                                              const Uniformity &uniformity) {
  EinsumOp op = einsum.getOp();
  if (!uniformity.isSharedIn(group, op.getResult()))
    return std::nullopt;
  Type element = tensorTypeOf(op.getResult()).getElementType();
  if (!einsum.isSplit() && isa<FloatType>(element))
    return Obstacle{"devices that are to have the same result would add up "
                    "blocks in different orders",
                    op.getLoc()};
  if (hasChoices(op->getParentOfType<func::FuncOp>()))
    return Obstacle{"data chooses what the function does, and that devices "
                    "have the same result could not be proved",
                    op.getLoc()};
  return std::nullopt;
}

std::optional<Obstacle>
GatherWindow::findEquality(const Uniformity &uniformity) {
  if (dim < 0 || findReader())
    return std::nullopt;
  for (const BlockedEinsum &einsum : einsums())
    if (auto obstacle =
            findEqualityOf(einsum, *uniformity.groupOf(op), uniformity))
      return obstacle;
  return std::nullopt;
}

std::optional<Obstacle> GatherWindow::findObstacle() {
  if (dim < 0)
    return Obstacle{"it gathers several dimensions"};
  if (getMovedBytes() == 0 || count < 2)
    return Obstacle{"devices have nothing to send"};
  if (auto obstacle = findReader())
    return obstacle;
  SmallVector<BlockedEinsum> all = einsums();
  for (const BlockedEinsum &einsum : all) {
    if (auto obstacle = einsum.findObstacle())
      return obstacle;
  }
  if (failed(findLateOperands(all)))
    return Obstacle{"one einsum that reads it waits for another one",
                    all.back().getOp().getLoc()};
  return std::nullopt;
}

int64_t GatherWindow::getMovedBytes() {
  return sizeInBytes(op.getInput().getType());
}

/// The type of what a loop carries instead of the einsum's result.
static RankedTensorType carriedType(OpBuilder &builder,
                                    const BlockedEinsum &einsum) {
  RankedTensorType type = einsum.blockType();
  if (!einsum.isSplit())
    return type;
  Blocks blocks = einsum.resultBlocks(builder);
  SmallVector<int64_t> shape(type.getShape());
  shape[blocks.dim] = blocks.padded();
  return type.clone(shape);
}

int64_t GatherWindow::heldBytes() {
  OpBuilder builder(op);
  // What comes in, and, where there is a loop, what it goes on with.
  int64_t bytes = getMovedBytes() * (count > 2 ? 2 : 1), step = 0;
  for (const BlockedEinsum &einsum : einsums()) {
    RankedTensorType carried = carriedType(builder, einsum);
    // The result is there in any case.
    if (carried != einsum.getOp().getType())
      bytes += sizeInBytes(carried);
    bytes += einsum.preparedBytes();
    step = std::max(step, einsum.stepBytes());
  }
  return bytes + step;
}

static Value advance(OpBuilder &builder, const BlockedEinsum &einsum,
                     Value carried, Value chunk, Value index,
                     ArrayRef<Value> prepared) {
  Value part = einsum.emit(builder, chunk, index, prepared);
  if (einsum.isSplit())
    return einsum.resultBlocks(builder).put(carried, part, index);
  return createCombiner(builder, part.getLoc(), ReduceKind::Sum, carried, part);
}

/// What a loop carried as the result of the einsum.
static Value finish(OpBuilder &builder, const BlockedEinsum &einsum,
                    Value carried) {
  EinsumOp op = einsum.getOp();
  if (einsum.isSplit())
    return einsum.resultBlocks(builder).unpad(carried);
  return convert(builder, op.getLoc(), carried,
                 tensorTypeOf(op.getResult()).getElementType());
}

void GatherWindow::rewrite() {
  SmallVector<BlockedEinsum> all = einsums();
  // The steps of the loop are not the values that the ops are known for.
  takeLayoutNote(cast<OpResult>(op.getResult()));
  SmallVector<std::optional<LayoutNote>> notes;
  for (const BlockedEinsum &einsum : all)
    notes.push_back(takeLayoutNote(cast<OpResult>(einsum.getOp().getResult())));
  Operation *first = all.front().getOp();
  FailureOr<SmallVector<Operation *>> lateOps = findLateOperands(all);
  for (Operation *late : *lateOps)
    late->moveBefore(first);

  OpBuilder builder(first);
  Ring ring(builder, op.getLoc(), op.getMeshAttr(),
            AxesAttr::get(op.getContext(), axes), count);
  SmallVector<SmallVector<Value>> prepared;
  SmallVector<Value> inits{op.getInput()};
  for (const BlockedEinsum &einsum : all) {
    prepared.push_back(einsum.prepare(builder));
    inits.push_back(makeZeros(builder, einsum.getOp().getLoc(),
                              carriedType(builder, einsum)));
  }
  auto work = [&](Value step, ValueRange carried) {
    Value index = ring.indexAt(step, count);
    SmallVector<Value> next;
    for (auto [einsum, result, operands] :
         llvm::zip_equal(all, carried.drop_front(), prepared))
      next.push_back(
          advance(builder, einsum, result, carried.front(), index, operands));
    return next;
  };
  SmallVector<Value> carried =
      ring.loop(0, count - 1, inits, [&](Value step, ValueRange before) {
        // First of all, so that it is under way while the einsums run.
        SmallVector<Value> next{ring.pass(before.front(), op.getWhyAttr())};
        llvm::append_range(next, work(step, before));
        return next;
      });
  // The last block is passed on to no one.
  SmallVector<Value> results = work(ring.number(count - 1), carried);
  // All of them before any einsum goes: the builder stands at the first.
  for (auto [einsum, result] : llvm::zip_equal(all, results))
    result = finish(builder, einsum, result);
  for (auto [einsum, result, note] : llvm::zip_equal(all, results, notes)) {
    if (note)
      noteLayout(cast<OpResult>(result), *note);
    einsum.getOp().replaceAllUsesWith(result);
    einsum.getOp().erase();
  }
  op.erase();
}
