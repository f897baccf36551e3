// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-fuse-gathers.

#include "../TensorReads.h"
#include "GatherLoops.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "shoal/Conversion/Passes.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_FUSEGATHERS
#include "shoal/Conversion/Passes.h.inc"
} // namespace shoal

using namespace shoal;

/// The only op that reads the call's result, maybe in another shape, if it is
/// one of loops that read each element once; null otherwise.
static OpOperand *findReader(rt::CallOp call) {
  Value value = call->getResult(0);
  while (value.hasOneUse()) {
    OpOperand &use = *value.use_begin();
    Operation *user = use.getOwner();
    // A loop is not to read in every trip what is gathered before it.
    if (user->getBlock() != call->getBlock())
      return nullptr;
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user)) {
      value = user->getResult(0);
      continue;
    }
    auto reader = dyn_cast<linalg::GenericOp>(user);
    if (!reader || !reader.isDpsInput(&use) || reader.hasDynamicShape())
      return nullptr;
    AffineMap map = reader.getMatchingIndexingMap(&use);
    return map.isPermutation() && keepsLastDim(reader, map) ? &use : nullptr;
  }
  return nullptr;
}

/// Erases what computes `value`, up to the call, where nothing uses it.
static void eraseUnused(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!op->use_empty() ||
        !isa<rt::CallOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      return;
    value = op->getOperand(0);
    op->erase();
  }
}

/// Lets the reader gather for itself, if that can be one op.
static void fuse(rt::CallOp call, OpOperand &use) {
  auto reader = cast<linalg::GenericOp>(use.getOwner());
  IRRewriter rewriter(reader);
  Value gathered = use.get();
  linalg::GenericOp gather = makeGatherLoops(
      rewriter, call, cast<RankedTensorType>(gathered.getType()));
  if (!gather)
    return;
  use.set(gather.getResult(0));
  FailureOr<linalg::ElementwiseOpFusionResult> fused = failure();
  // Where only the gathered tensor says how long a reduced loop is, it stays.
  if (linalg::areElementwiseOpsFusable(&use))
    fused = linalg::fuseElementwiseOps(rewriter, &use);
  if (failed(fused)) {
    use.set(gathered);
    rewriter.eraseOp(gather);
    return;
  }
  for (auto [before, after] : fused->replacements)
    rewriter.replaceAllUsesWith(before, after);
  rewriter.eraseOp(reader);
  rewriter.eraseOp(gather);
  eraseUnused(gathered);
}

namespace {

struct FuseGathers : shoal::impl::FuseGathersBase<FuseGathers> {
  void runOnOperation() override {
    SmallVector<rt::CallOp> calls;
    getOperation().walk([&](rt::CallOp call) {
      if (call.getCallee() == "gather" && call->getNumResults() == 1)
        calls.push_back(call);
    });
    for (rt::CallOp call : calls) {
      OpOperand *use = findReader(call);
      if (use && llvm::none_of(call.getInputs(), [&](Value input) {
            return mayBeWrittenBetween(input, call, use->getOwner());
          }))
        fuse(call, *use);
    }
  }
};

} // namespace
