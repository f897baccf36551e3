// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-results-to-out-params.

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "shoal/Conversion/Passes.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_RESULTSTOOUTPARAMS
#include "shoal/Conversion/Passes.h.inc"
} // namespace shoal

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
    OpBuilder builder(alloc);
    alloc->replaceAllUsesWith(ValueRange(
        reinterpret(builder, alloc.getLoc(), outParam, alloc.getType())));
    alloc->erase();
    return;
  }
  // An input, a constant, or what another result has been made in already.
  OpBuilder builder(op);
  memref::CopyOp::create(builder, op.getLoc(), result, outParam);
}

namespace {

struct ResultsToOutParams
    : shoal::impl::ResultsToOutParamsBase<ResultsToOutParams> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || !func.getBody().hasOneBlock())
      return;
    auto op = cast<func::ReturnOp>(func.front().getTerminator());
    for (unsigned i = 0, end = op.getNumOperands(); i < end; ++i) {
      Type type = op.getOperand(i).getType();
      if (!isa<MemRefType>(type)) {
        op.emitOpError("expected buffers but got ") << type;
        return signalPassFailure();
      }
      unsigned number = func.getNumArguments();
      (void)func.insertArgument(number, type, DictionaryAttr(), op.getLoc());
      makeIn(func.getArgument(number), op.getOperand(i), op);
    }
    op->setOperands(ValueRange());
    BitVector results(func.getNumResults(), true);
    (void)func.eraseResults(results);
  }
};

} // namespace
