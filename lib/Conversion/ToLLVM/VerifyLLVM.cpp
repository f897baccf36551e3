// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-verify-llvm.

#include "../Utils/VerifyOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/TypeUtilities.h"
#include "shoal/Conversion/ToLLVM/Passes.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_VERIFYLLVM
#include "shoal/Conversion/ToLLVM/Passes.h.inc"
} // namespace shoal

using namespace shoal;

/// (C1) and (C2) of the pass's description.
static LogicalResult verify(Operation *op) {
  if (isa<ModuleOp>(op))
    return success();
  if (!isa_and_present<LLVM::LLVMDialect>(op->getDialect()))
    return op->emitOpError("is left behind by the lowering to LLVM");
  for (Type type : op->getResultTypes())
    if (getElementTypeOrSelf(type).isBF16())
      return op->emitOpError("has a result of ") << type << ": expected i16";
  return success();
}

namespace {

struct VerifyLLVM : shoal::impl::VerifyLLVMBase<VerifyLLVM> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyOps(getOperation(), verify)))
      signalPassFailure();
  }
};

} // namespace
