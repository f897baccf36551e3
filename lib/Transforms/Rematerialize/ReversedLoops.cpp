// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ReversedLoops.h"
#include "mlir/IR/Matchers.h"
#include "shoal/Dialect/Shoal/IR/LoopCounters.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "shoal/Interfaces/PartitionInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::remat;

static std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)) &&
      constant.getBitWidth() <= 64)
    return constant.getSExtValue();
  return std::nullopt;
}

static YieldOp yieldOf(WhileOp loop) {
  return cast<YieldOp>(loop.getBody().front().getTerminator());
}

std::optional<int64_t> shoal::remat::countsFrom(WhileOp loop,
                                                BlockArgument argument) {
  std::optional<TripNumbers> numbers = tripNumbersOf(loop, argument);
  if (!numbers || numbers->step != 1)
    return std::nullopt;
  return numbers->first;
}

/// Whether all starts but the first are 0.
static bool startsInFirstDim(ValueRange starts) {
  return !starts.empty() && llvm::all_of(starts.drop_front(), [](Value start) {
    return constantOf(start) == 0;
  });
}

/// The value itself behind marks and barriers: each of several values that pass
/// one has rows for itself.
static Value forwardedBy(Value value) {
  while (auto forwarding = value.getDefiningOp<ForwardingOpInterface>()) {
    if (!forwarding.forwardsOperands())
      break;
    value = forwarding->getOperand(cast<OpResult>(value).getResultNumber());
  }
  return value;
}

/// Whether the update of a carried value is a row at a counter from 0 on that
/// nobody else reads.
static std::optional<Stack> findStack(WhileOp loop, unsigned number) {
  auto write =
      yieldOf(loop).getValues()[number].getDefiningOp<DynamicUpdateSliceOp>();
  BlockArgument carried = loop.getBody().getArgument(number);
  if (!write || write.getInput() != carried || !carried.hasOneUse() ||
      !write->hasOneUse() || !startsInFirstDim(write.getStarts()) ||
      !loop.getCond().getArgument(number).use_empty())
    return std::nullopt;
  auto counter = dyn_cast<BlockArgument>(write.getStarts().front());
  auto shape = cast<RankedTensorType>(write.getUpdate().getType()).getShape();
  auto whole = cast<RankedTensorType>(write.getType()).getShape();
  if (!counter || counter.getOwner() != &loop.getBody().front() ||
      countsFrom(loop, counter) != 0 || shape.front() != 1 ||
      shape.drop_front() != whole.drop_front() ||
      loop.getTripCount() != whole.front())
    return std::nullopt;
  Value value = write.getUpdate();
  if (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  return Stack{number, forwardedBy(value), write.getUpdate(), write, {}};
}

/// Finds the reads of the stack's rows, all in the body of one loop at one
/// number, which are those of `loop` if it has some already.
static bool findReads(Stack &stack, ReversedLoop &loop) {
  Value whole = loop.forward.getResult(stack.number);
  WhileOp backward = loop.backward;
  Value step = loop.step;
  for (Operation *user : whole.getUsers()) {
    auto read = dyn_cast<DynamicSliceOp>(user);
    auto around = read ? dyn_cast<WhileOp>(read->getParentOp()) : WhileOp();
    if (!around || around->getBlock() != loop.forward->getBlock() ||
        read->getBlock() != &around.getBody().front() ||
        read.getType() != stack.row.getType() ||
        !startsInFirstDim(read.getStarts()) ||
        (backward && backward != around) ||
        (step && step != read.getStarts().front()))
      return false;
    backward = around;
    step = read.getStarts().front();
    stack.reads.push_back(read);
  }
  if (stack.reads.empty())
    return false;
  loop.backward = backward;
  loop.step = step;
  return true;
}

SmallVector<ReversedLoop>
shoal::remat::findReversedLoops(func::FuncOp function) {
  SmallVector<ReversedLoop> loops;
  function.walk<WalkOrder::PreOrder>([&](WhileOp forward) {
    std::optional<int64_t> trips = forward.getTripCount();
    if (!trips)
      return;
    ReversedLoop loop{forward, {}, *trips, {}, {}};
    for (unsigned number = 0; number < forward->getNumResults(); ++number)
      if (std::optional<Stack> stack = findStack(forward, number);
          stack && findReads(*stack, loop))
        loop.stacks.push_back(std::move(*stack));
    if (!loop.stacks.empty())
      loops.push_back(std::move(loop));
  });
  return loops;
}

WhileOp shoal::remat::removeStacks(WhileOp loop, ArrayRef<Stack> stacks) {
  BitVector gone(loop->getNumResults());
  for (const Stack &stack : stacks)
    gone.set(stack.number);
  SmallVector<Value> inits, results;
  for (auto [init, result] :
       llvm::zip_equal(loop.getInits(), loop.getResults()))
    if (!gone[result.getResultNumber()]) {
      inits.push_back(init);
      results.push_back(result);
    }
  OpBuilder builder(loop);
  auto made = WhileOp::create(builder, loop.getLoc(),
                              ValueRange(results).getTypes(), inits);
  made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  made.getCond().takeBody(loop.getCond());
  made.getBody().takeBody(loop.getBody());
  yieldOf(made)->eraseOperands(gone);
  for (const Stack &stack : stacks)
    DynamicUpdateSliceOp(stack.write)->erase();
  made.getCond().front().eraseArguments(gone);
  made.getBody().front().eraseArguments(gone);
  for (auto [from, to] : llvm::zip_equal(results, made.getResults()))
    from.replaceAllUsesWith(to);
  loop.erase();
  return made;
}
