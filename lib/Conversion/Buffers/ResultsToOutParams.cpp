// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-results-to-out-params.

#include "../Utils/ArgumentAttrs.h"
#include "BufferRange.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "shoal/Conversion/Buffers/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Shoal/IR/Donation.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-results-to-out-params"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_RESULTSTOOUTPARAMS
#include "shoal/Conversion/Buffers/Passes.h.inc"
} // namespace shoal

static shoal::PassCounter numInPlace(DEBUG_TYPE,
                                     "Results made in the caller's buffers");
static shoal::PassCounter numDonated(DEBUG_TYPE,
                                     "Results made in donated arguments");
static shoal::PassCounter numCopied(DEBUG_TYPE,
                                    "Results copied to the caller's buffers");

/// The buffer that `result` is, whole but maybe in another shape; null where it
/// is not one that this function allocates.
static memref::AllocOp findAllocation(Value result) {
  while (Operation *op = result.getDefiningOp()) {
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      return alloc.getType().getLayout().isIdentity() ? alloc : nullptr;
    if (!isa<memref::ExpandShapeOp, memref::CollapseShapeOp>(op))
      return nullptr;
    result = op->getOperand(0);
  }
  return nullptr;
}

/// The dense `buffer` seen in the shape of `type`.
static Value reinterpret(OpBuilder &builder, Location loc, Value buffer,
                         MemRefType type) {
  if (buffer.getType() == type)
    return buffer;
  auto [strides, offset] = type.getStridesAndOffset();
  return memref::ReinterpretCastOp::create(builder, loc, type, buffer, offset,
                                           type.getShape(), strides);
}

/// Lets the result's value be made in `outParam`.
static void makeIn(BlockArgument outParam, Value result, func::ReturnOp op) {
  if (memref::AllocOp alloc = findAllocation(result)) {
    ++numInPlace;
    LDBG() << "what is allocated at " << shoal::sourcePlace(alloc.getLoc())
           << " is argument " << outParam.getArgNumber();
    OpBuilder builder(alloc);
    alloc->replaceAllUsesWith(ValueRange(
        reinterpret(builder, alloc.getLoc(), outParam, alloc.getType())));
    alloc->erase();
    return;
  }
  // An input, a constant, or what another result has been made in already.
  ++numCopied;
  LDBG() << "argument " << outParam.getArgNumber()
         << " gets a copy of what is made at "
         << shoal::sourcePlace(result.getLoc());
  OpBuilder builder(op);
  memref::CopyOp::create(builder, op.getLoc(), result, outParam);
}

/// Whether `buffer` is written for the first time behind the last op that
/// touches the argument.
static bool beginsBehind(memref::AllocOp buffer, BlockArgument argument) {
  Block &body = *argument.getOwner();
  Operation *first = nullptr, *last = nullptr;
  for (Operation &op : body) {
    bool touchesBuffer = false, touchesArgument = false;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        if (!isa<MemRefType>(operand.getType()))
          continue;
        touchesBuffer |= shoal::findBuffer(operand) == buffer.getResult();
        touchesArgument |= shoal::findBuffer(operand) == argument;
      }
    });
    if (touchesBuffer && !first && !isa<ViewLikeOpInterface>(op))
      first = &op;
    if (touchesArgument)
      last = &op;
  }
  return buffer->getBlock() == &body && first &&
         (!last || last->isBeforeInBlock(first));
}

/// Lets the result's value be made in the donated argument, if it is there
/// already or if that is no longer needed when it begins.
static bool makeInDonor(BlockArgument donor, Value result) {
  if (result == donor)
    return true;
  memref::AllocOp alloc = findAllocation(result);
  if (!alloc || !beginsBehind(alloc, donor)) {
    LDBG() << "not in the donated argument " << donor.getArgNumber()
           << ": the result made at " << shoal::sourcePlace(result.getLoc())
           << (alloc ? " begins while it is used"
                     : " has no buffer of its own");
    return false;
  }
  OpBuilder builder(alloc);
  alloc->replaceAllUsesWith(
      ValueRange(reinterpret(builder, alloc.getLoc(), donor, alloc.getType())));
  alloc->erase();
  return true;
}

namespace {

struct ResultsToOutParams
    : shoal::impl::ResultsToOutParamsBase<ResultsToOutParams> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || !func.getBody().hasOneBlock())
      return;
    auto op = cast<func::ReturnOp>(func.front().getTerminator());
    for (Type type : op.getOperandTypes())
      if (!isa<MemRefType>(type)) {
        op.emitOpError("expected buffers but got ") << type;
        return signalPassFailure();
      }
    SmallVector<int64_t> donors = takeDonors(func);
    unsigned first = addOutParams(func, op);
    for (unsigned i = 0, end = op.getNumOperands(); i < end; ++i) {
      if (donors[i] >= 0 &&
          makeInDonor(func.getArgument(donors[i]), op.getOperand(i))) {
        LDBG() << "result " << i << " is in argument " << donors[i];
        ++numDonated;
        continue;
      }
      donors[i] = -1;
      makeIn(func.getArgument(first + i), op.getOperand(i), op);
    }
    markResults(func, first, donors);
    if (llvm::any_of(donors, [](int64_t donor) { return donor >= 0; }))
      func->setAttr(shoal::kDonorsAttr,
                    DenseI64ArrayAttr::get(&getContext(), donors));
    op->setOperands(ValueRange());
    BitVector results(func.getNumResults(), true);
    (void)func.eraseResults(results);
  }

private:
  /// The donors that would do; they and the arguments' marks go away.
  static SmallVector<int64_t> takeDonors(func::FuncOp func) {
    SmallVector<int64_t> donors(func.getNumResults(), -1);
    if (auto attr = dyn_cast_if_present<DenseI64ArrayAttr>(
            func->removeAttr(shoal::kDonorsAttr)))
      donors = llvm::to_vector(attr.asArrayRef());
    shoal::changeArgAttrs(func, [](unsigned, NamedAttrList &attrs) {
      attrs.erase(shoal::kDonatedAttr);
    });
    return donors;
  }

  /// An argument for each result, behind the others. The number of the first.
  static unsigned addOutParams(func::FuncOp func, func::ReturnOp op) {
    unsigned first = func.getNumArguments();
    unsigned count = op.getNumOperands();
    (void)func.insertArguments(SmallVector<unsigned>(count, first),
                               llvm::to_vector(op.getOperandTypes()),
                               SmallVector<DictionaryAttr>(count),
                               SmallVector<Location>(count, op.getLoc()));
    return first;
  }

  /// Says of the arguments behind the `first` ones which a result is made in.
  static void markResults(func::FuncOp func, unsigned first,
                          ArrayRef<int64_t> donors) {
    auto isResult = UnitAttr::get(func.getContext());
    shoal::changeArgAttrs(func, [&](unsigned number, NamedAttrList &attrs) {
      if (number >= first && donors[number - first] < 0)
        attrs.set(shoal::kResultAttr, isResult);
    });
  }
};

} // namespace
