// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-verify-buffers.

#include "../Utils/VerifyOps.h"
#include "BufferRange.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Conversion/Buffers/Passes.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_VERIFYBUFFERS
#include "shoal/Conversion/Buffers/Passes.h.inc"
} // namespace shoal

using namespace shoal;

/// (C1) of the pass's description.
static LogicalResult verifyTypes(Operation *op) {
  for (Value result : op->getResults())
    if (isa<TensorType>(result.getType()))
      return op->emitOpError("has a result of ")
             << result.getType() << ": expected a buffer";
  for (Region &region : op->getRegions())
    for (BlockArgument argument : region.getArguments())
      if (isa<TensorType>(argument.getType()))
        return op->emitOpError("has an argument of ")
               << argument.getType() << ": expected a buffer";
  return success();
}

/// (C2)
static LogicalResult verifyResults(Operation *op) {
  auto func = dyn_cast<func::FuncOp>(op);
  if (!func || !func.getBody().hasOneBlock() || func.getNumResults() == 0)
    return success();
  return func.emitOpError("returns ")
         << func.getNumResults() << " values: expected its results in buffers";
}

/// (C3)
static LogicalResult verifyWrites(Operation *op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects)
    return success();
  SmallVector<MemoryEffects::EffectInstance> writes;
  effects.getEffects<MemoryEffects::Write>(writes);
  for (const MemoryEffects::EffectInstance &write : writes) {
    Value buffer = write.getValue();
    if (!buffer || !isa<MemRefType>(buffer.getType()))
      continue;
    auto constant = findBuffer(buffer).getDefiningOp<memref::GetGlobalOp>();
    if (!constant)
      continue;
    InFlightDiagnostic error = op->emitOpError("writes to a constant");
    error.attachNote(constant.getLoc()) << "which is this";
    return error;
  }
  return success();
}

static LogicalResult verify(Operation *op) {
  return success(succeeded(verifyTypes(op)) && succeeded(verifyResults(op)) &&
                 succeeded(verifyWrites(op)));
}

namespace {

struct VerifyBuffers : shoal::impl::VerifyBuffersBase<VerifyBuffers> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyOps(getOperation(), verify)))
      signalPassFailure();
  }
};

} // namespace
