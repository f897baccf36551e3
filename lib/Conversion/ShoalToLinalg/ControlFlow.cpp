// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// while and case become loops and branches of scf on tensors. What a region
// yields is copied into one buffer per carried value or result, which is there
// before the op: no buffer is made in one trip and read in another, so that
// memory can be planned ahead.

#include "Families.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "shoal/Dialect/Shoal/IR/LoopCounters.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include <deque>

using namespace mlir;
using namespace shoal;

/// Whether a value of the body is the trip's number, from 0 up or down to 0.
static bool isTripNumber(Value value, WhileOp loop, int64_t trips) {
  std::optional<TripNumbers> numbers = tripNumbersOf(loop, value);
  return numbers && std::abs(numbers->step) == 1 &&
         std::min(numbers->first, numbers->last(trips)) == 0;
}

/// Whether the trips write all of carried value `number`, and nothing reads it.
static bool isWrittenByTrips(WhileOp loop, unsigned number, int64_t trips) {
  Value before = loop.getBody().getArgument(number);
  auto yield = cast<YieldOp>(loop.getBody().front().getTerminator());
  auto update = yield.getValues()[number].getDefiningOp<DynamicUpdateSliceOp>();
  if (!update || update.getInput() != before || !before.hasOneUse() ||
      !update->hasOneUse() || !loop.getCond().getArgument(number).use_empty())
    return false;
  bool isRow = false;
  for (auto [all, written, start] : llvm::zip_equal(
           tensorTypeOf(before).getShape(),
           tensorTypeOf(update.getUpdate()).getShape(), update.getStarts())) {
    if (written == all) // It starts at 0, whatever `start` is.
      continue;
    if (isRow || written != 1 || all != trips ||
        !isTripNumber(start, loop, trips))
      return false;
    isRow = true;
  }
  return true;
}

void shoal::leaveWrittenRowsUnset(ModuleOp module) {
  module.walk([](WhileOp loop) {
    int64_t trips = loop.getTripCount().value_or(0);
    if (trips == 0)
      return;
    for (OpOperand &init : loop.getInitsMutable()) {
      if (!matchPattern(init.get(), m_Constant()) ||
          !isWrittenByTrips(loop, init.getOperandNumber(), trips))
        continue;
      RankedTensorType type = tensorTypeOf(init.get());
      OpBuilder builder(loop);
      init.set(makeEmpty(builder, loop.getLoc(), type.getShape(),
                         type.getElementType()));
    }
  });
}

static Value extractScalar(OpBuilder &builder, Location loc, Value scalar) {
  return tensor::ExtractOp::create(builder, loc, scalar, ValueRange());
}

/// `value` in the buffer of `target`.
static Value copyInto(OpBuilder &builder, Location loc, Value value,
                      Value target) {
  return linalg::CopyOp::create(builder, loc, value, target).getResult(0);
}

/// A copy of `value`, whatever buffer that is in.
static Value copyAside(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return copyInto(
      builder, loc, value,
      makeEmpty(builder, loc, type.getShape(), type.getElementType()));
}

/// Whether the value is computed in this trip into a buffer of its own. Others
/// may be in one that the next trip begins with: arguments of the region, parts
/// of them, what was inserted into them.
static bool isFresh(Value value, Block *body) {
  Operation *op = value.getDefiningOp();
  return op && op->getBlock() == body &&
         (isa<linalg::LinalgOp, rt::RuntimeCallOpInterface>(op) ||
          op->hasTrait<OpTrait::Elementwise>());
}

/// The yielded values in the buffers of the carried ones. All are carried, so
/// those that may be in one of these buffers go aside first.
static void yieldInPlace(OpBuilder &builder, YieldOp yield, Block *body) {
  Location loc = yield.getLoc();
  builder.setInsertionPoint(yield);
  SmallVector<Value> next(yield.getValues());
  for (auto [i, value] : llvm::enumerate(next))
    if (value != body->getArgument(i) && !isFresh(value, body))
      value = copyAside(builder, loc, value);
  for (auto [i, value] : llvm::enumerate(next))
    if (value != body->getArgument(i))
      value = copyInto(builder, loc, value, body->getArgument(i));
  scf::YieldOp::create(builder, loc, next);
  yield.erase();
}

static void lowerWhile(WhileOp op) {
  OpBuilder builder(op);
  auto loop = scf::WhileOp::create(builder, op.getLoc(), op.getResultTypes(),
                                   op.getInits());
  loop.getBefore().takeBody(op.getCond());
  loop.getAfter().takeBody(op.getBody());
  auto condition = cast<YieldOp>(loop.getBeforeBody()->getTerminator());
  builder.setInsertionPoint(condition);
  Value goesOn =
      extractScalar(builder, condition.getLoc(), condition.getValues()[0]);
  scf::ConditionOp::create(builder, condition.getLoc(), goesOn,
                           loop.getBeforeBody()->getArguments());
  condition.erase();
  Block *body = loop.getAfterBody();
  yieldInPlace(builder, cast<YieldOp>(body->getTerminator()), body);
  op.replaceAllUsesWith(loop.getResults());
  op.erase();
}

namespace {

/// Nested ifs for the branches from `number` on, whose results are in the
/// buffers of `targets`.
class BranchChain {
public:
  BranchChain(CaseOp op, Value index, ValueRange targets)
      : op(op), index(index), targets(targets) {}

  ValueRange emit(OpBuilder &builder, unsigned number) {
    if (number + 1 == op.getBranches().size())
      return inlineBranch(builder, number);
    auto choice = scf::IfOp::create(builder, op.getLoc(), op.getResultTypes(),
                                    isBranch(builder, number),
                                    /*addThenBlock=*/true,
                                    /*addElseBlock=*/true);
    OpBuilder thenBuilder = choice.getThenBodyBuilder();
    scf::YieldOp::create(thenBuilder, op.getLoc(),
                         inlineBranch(thenBuilder, number));
    OpBuilder elseBuilder = choice.getElseBodyBuilder();
    scf::YieldOp::create(elseBuilder, op.getLoc(),
                         emit(elseBuilder, number + 1));
    return choice.getResults();
  }

private:
  Value isBranch(OpBuilder &builder, unsigned number) {
    if (index.getType().isInteger(1)) // Branch 0 is for true.
      return index;
    Value own = arith::ConstantOp::create(builder, op.getLoc(),
                                          builder.getI32IntegerAttr(number));
    return arith::CmpIOp::create(builder, op.getLoc(), arith::CmpIPredicate::eq,
                                 index, own);
  }

  /// Moves the branch to where `builder` is.
  ValueRange inlineBranch(OpBuilder &builder, unsigned number) {
    Block &branch = op.getBranches()[number].front();
    auto yield = cast<YieldOp>(branch.getTerminator());
    Block *block = builder.getInsertionBlock();
    block->getOperations().splice(builder.getInsertionPoint(),
                                  branch.getOperations(), branch.begin(),
                                  yield->getIterator());
    SmallVector<Value> &made = results.emplace_back();
    for (auto [value, target] : llvm::zip_equal(yield.getValues(), targets))
      made.push_back(copyInto(builder, yield.getLoc(), value, target));
    return made;
  }

  CaseOp op;
  Value index;
  ValueRange targets;
  std::deque<SmallVector<Value>> results;
};

} // namespace

static void lowerCase(CaseOp op) {
  OpBuilder builder(op);
  SmallVector<Value> targets;
  for (Value result : op.getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    // Unlike an empty tensor it stays one buffer for all branches.
    targets.push_back(bufferization::AllocTensorOp::create(builder, op.getLoc(),
                                                           type, ValueRange()));
  }
  Value index = extractScalar(builder, op.getLoc(), op.getIndex());
  op.replaceAllUsesWith(BranchChain(op, index, targets).emit(builder, 0));
  op.erase();
}

void shoal::lowerControlFlow(ModuleOp module) {
  SmallVector<Operation *> ops;
  // Inner ones first.
  module.walk([&](Operation *op) {
    if (isa<WhileOp, CaseOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (auto loop = dyn_cast<WhileOp>(op))
      lowerWhile(loop);
    else
      lowerCase(cast<CaseOp>(op));
  }
}

namespace {
/// Of calls that are the identity, and marks. Barriers stay until there are
/// buffers: equal tensors are merged, and loops fused, until then.
struct LowerForwarding : OpInterfaceRewritePattern<ForwardingOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(ForwardingOpInterface op,
                                PatternRewriter &rewriter) const override {
    if (!op.forwardsOperands() || isa<OptimizationBarrierOp>(op))
      return failure();
    rewriter.replaceOp(op, op->getOperands());
    return success();
  }
};
} // namespace

void shoal::populateControlFlowPatterns(RewritePatternSet &patterns,
                                        const ProgramNumbering &) {
  patterns.add<LowerForwarding>(patterns.getContext());
}
