// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-verify-kernels.

#include "../Utils/VerifyOps.h"
#include "SumLanes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Conversion/Kernels/Passes.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_VERIFYKERNELS
#include "shoal/Conversion/Kernels/Passes.h.inc"
} // namespace shoal

using namespace shoal;

/// (C1) of the pass's description.
static LogicalResult verifyNoLinalg(Operation *op) {
  if (isa<linalg::LinalgOp, rt::KernelOp>(op))
    return op->emitOpError("has not become a kernel");
  return success();
}

/// (C4)
static LogicalResult verifyOrder(Operation *op) {
  if (mayBeReassociated(op))
    return op->emitOpError("may be reassociated: expected an order of its own");
  return success();
}

/// (C2)
static LogicalResult verifyHost(Operation *op) {
  if (isa<rt::RtDialect>(op->getDialect()) || isMemoryEffectFree(op) ||
      op->getNumRegions() > 0 || op->hasTrait<OpTrait::IsTerminator>())
    return success();
  for (Value operand : op->getOperands())
    if (isa<MemRefType>(operand.getType()))
      return op->emitOpError("touches memory of the device on the host");
  return success();
}

/// (C3) of the ops of a block.
static LogicalResult verifyWaits(Block &block,
                                 const rt::CollectiveStreams &streams) {
  // Those of a stream end in the order in which they began.
  SmallVector<std::pair<int64_t, Operation *>> underWay;
  for (Operation &op : block) {
    auto number = op.getAttrOfType<IntegerAttr>("collective");
    if (isa<rt::WaitOp>(op)) {
      auto *waitedFor =
          llvm::find_if(llvm::reverse(underWay), [&](auto &begun) {
            return begun.first == number.getInt();
          }).base();
      auto *left =
          std::remove_if(underWay.begin(), waitedFor, [&](auto &begun) {
            return streams.of(begun.first) == streams.of(number.getInt());
          });
      underWay.erase(left, waitedFor);
      continue;
    }
    if ((op.getNumRegions() > 0 || &op == &block.back()) && !underWay.empty()) {
      InFlightDiagnostic error =
          op.emitOpError("comes while a collective is under way");
      error.attachNote(underWay.back().second->getLoc()) << "which is this";
      return error;
    }
    if (number)
      underWay.emplace_back(number.getInt(), &op);
  }
  return success();
}

static LogicalResult verifyDevice(func::FuncOp func) {
  rt::CollectiveStreams streams(func);
  return verifyOps(func, [&](Operation *op) -> LogicalResult {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        if (failed(verifyWaits(block, streams)))
          return failure();
    return verifyHost(op);
  });
}

namespace {

struct VerifyKernels : shoal::impl::VerifyKernelsBase<VerifyKernels> {
  using VerifyKernelsBase::VerifyKernelsBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyOps(getOperation(), verifyNoLinalg)))
      return signalPassFailure();
    if (!device) {
      if (failed(verifyOps(getOperation(), verifyOrder)))
        signalPassFailure();
      return;
    }
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(verifyDevice(func)))
        return signalPassFailure();
  }
};

} // namespace
