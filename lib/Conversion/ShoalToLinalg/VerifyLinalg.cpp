// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-verify-linalg.

#include "../Utils/VerifyOps.h"
#include "shoal/Conversion/ShoalToLinalg/Passes.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_VERIFYLINALG
#include "shoal/Conversion/ShoalToLinalg/Passes.h.inc"
} // namespace shoal

using namespace shoal;

/// (C3)
static LogicalResult verifyElements(Operation *op) {
  SmallVector<Type> types(op->getResultTypes());
  for (Region &region : op->getRegions())
    llvm::append_range(types, region.getArgumentTypes());
  for (Type type : types)
    if (auto shaped = dyn_cast<ShapedType>(type);
        shaped && !rt::findElementType(shaped))
      return op->emitOpError("the runtime has no elements of ")
             << shaped.getElementType();
  return success();
}

/// (C1) and (C2) of the pass's description.
static LogicalResult verify(Operation *op) {
  // Calls name the meshes until they are lowered. Barriers end with tensors.
  if (isa<MeshOp, OptimizationBarrierOp>(op))
    return success();
  if (isa_and_present<ShoalDialect, spmd::SpmdDialect>(op->getDialect()))
    return op->emitOpError("is left behind by the lowering to linalg");
  if (OpTrait::hasElementwiseMappableTraits(op) && op->getNumOperands() > 0 &&
      llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>))
    return op->emitOpError("works on tensors: expected a linalg op");
  return verifyElements(op);
}

namespace {

struct VerifyLinalg : shoal::impl::VerifyLinalgBase<VerifyLinalg> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyOps(getOperation(), verify)))
      signalPassFailure();
  }
};

} // namespace
