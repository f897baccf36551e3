// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/CustomCallOps.h"

using namespace mlir;
using namespace shoal;

namespace {

/// The runtime calls the user's function.
struct LowerCustomCall : OpRewritePattern<CustomCallOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CustomCallOp op,
                                PatternRewriter &rewriter) const override {
    if (op.isIdentity())
      return failure();
    rewriter.replaceOpWithNewOp<rt::CustomCallOp>(
        op, op.getResultTypes(), op.getInputs(),
        makeOutputs(rewriter, op.getLoc(), op.getResultTypes()),
        op.getTargetAttr(), op.getConfigAttr());
    return success();
  }
};

} // namespace

void shoal::populateCustomCallPatterns(RewritePatternSet &patterns,
                                       const ProgramNumbering &) {
  patterns.add<LowerCustomCall>(patterns.getContext());
}
