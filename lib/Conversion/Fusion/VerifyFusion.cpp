// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-verify-fusion.

#include "../Utils/VerifyOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "shoal/Conversion/Fusion/Passes.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_VERIFYFUSION
#include "shoal/Conversion/Fusion/Passes.h.inc"
} // namespace shoal

using namespace shoal;

/// (C1) of the pass's description.
static LogicalResult verify(linalg::GenericOp op) {
  return verifyOps(op, [&](tensor::ExtractOp read) -> LogicalResult {
    if (read->getParentOp() == op)
      return success();
    return read.emitOpError("stands inside of another op than the "
                            "linalg.generic that it reads for");
  });
}

namespace {

struct VerifyFusion : shoal::impl::VerifyFusionBase<VerifyFusion> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyOps(getOperation(), verify)))
      signalPassFailure();
  }
};

} // namespace
