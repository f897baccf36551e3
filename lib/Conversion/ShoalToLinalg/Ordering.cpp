// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/OrderingOps.h"

using namespace mlir;
using namespace shoal;

namespace {

struct LowerTopK : OpRewritePattern<TopKOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TopKOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> outputs =
        makeOutputs(rewriter, op.getLoc(), op->getResultTypes());
    rewriter.replaceOpWithNewOp<rt::TopKOp>(
        op, op->getResultTypes(), op.getInput(), outputs[0], outputs[1],
        /*scratch=*/Value());
    return success();
  }
};

struct LowerSort : OpRewritePattern<SortOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SortOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<rt::SortOp>(
        op, op->getResultTypes(), op.getInputs(),
        makeOutputs(rewriter, op.getLoc(), op->getResultTypes()),
        op.getNumKeys(), op.getDim(), op.getDescending(), /*scratch=*/Value());
    return success();
  }
};

} // namespace

void shoal::populateOrderingPatterns(RewritePatternSet &patterns,
                                     const ProgramNumbering &) {
  patterns.add<LowerTopK, LowerSort>(patterns.getContext());
}
