// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-verify-device.

#include "../Utils/VerifyOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "shoal/Conversion/Device/Passes.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/LinearAlgebra/Lapack.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_VERIFYDEVICE
#include "shoal/Conversion/Device/Passes.h.inc"
} // namespace shoal

using namespace shoal;

/// (C1) of the pass's description.
static LogicalResult verifyKernel(rt::KernelOp kernel) {
  for (Operation &op : kernel.getBody().front()) {
    if (!isa<linalg::LinalgOp, memref::AllocaOp>(op))
      return op.emitOpError("stands in an rt.kernel: expected linalg ops and "
                            "memref.alloca");
    if (!isa<memref::AllocaOp>(op))
      continue;
    for (Operation *user : op.getUsers())
      if (!isa<linalg::LinalgOp>(user))
        return op.emitOpError("never gets memory, but is used by ")
               << user->getName();
  }
  return success();
}

/// (C2)
static LogicalResult verifyAlloca(memref::AllocaOp alloca) {
  if (isa<rt::KernelOp>(alloca->getParentOp()))
    return success();
  return alloca.emitOpError("is no part of an rt.kernel");
}

/// (C3)
static LogicalResult verifyInitial(linalg::LinalgOp op) {
  Attribute attr = op->getAttr(kInitialAttr);
  if (!attr)
    return success();
  auto initial = dyn_cast<ArrayAttr>(attr);
  if (!initial || initial.size() != size_t(op.getNumDpsInits()))
    return op.emitOpError("expected ")
           << kInitialAttr << " to have " << op.getNumDpsInits()
           << " elements, one a result, but got " << attr;
  for (auto [value, init] : llvm::zip_equal(initial, op.getDpsInits())) {
    Type type = getElementTypeOrSelf(init.getType());
    auto typed = dyn_cast<TypedAttr>(value);
    if (!isa<UnitAttr>(value) && (!typed || typed.getType() != type))
      return op.emitOpError("expected ")
             << kInitialAttr << " to have unit or a constant of " << type
             << " but got " << value;
  }
  return success();
}

/// (C4), of the functions that need no library of the user's.
static LogicalResult verifyCustomCall(rt::CustomCallOp call) {
  if (!lapack::isFunction(call.getTarget()))
    return success();
  return call.emitError() << "programs for CUDA cannot call \""
                          << call.getTarget()
                          << "\": cuSOLVER is not linked; compile for the CPU";
}

/// (C4)
static LogicalResult verifyCall(rt::RuntimeCallOpInterface call) {
  StringRef reason = call.whyNotOnDevice();
  if (reason.empty())
    return success();
  return call->emitError() << "programs for CUDA cannot call "
                           << call->getName() << ": " << reason
                           << "; compile for the CPU";
}

static LogicalResult verify(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([](rt::KernelOp kernel) { return verifyKernel(kernel); })
      .Case([](memref::AllocaOp alloca) { return verifyAlloca(alloca); })
      .Case([](linalg::LinalgOp linalg) { return verifyInitial(linalg); })
      .Case([](rt::CustomCallOp call) { return verifyCustomCall(call); })
      .Case([](rt::RuntimeCallOpInterface call) { return verifyCall(call); })
      .Default([](Operation *) { return success(); });
}

namespace {

struct VerifyDevice : shoal::impl::VerifyDeviceBase<VerifyDevice> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyOps(getOperation(), verify)))
      signalPassFailure();
  }
};

} // namespace
