// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/HostCallOps.h"

using namespace mlir;
using namespace shoal;

namespace {

struct LowerPrint : OpRewritePattern<PrintOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PrintOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<rt::HostCallOp>(
        op, TypeRange(), op.getInputs(), op.getWhen(), ValueRange(),
        /*number=*/IntegerAttr(), op.getFormatAttr(),
        op.getUnsignedInputsAttr(),
        rewriter.getStringAttr(sourcePlace(op.getLoc())));
    return success();
  }
};

struct LowerHostCall : OpRewritePattern<HostCallOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(HostCallOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<rt::HostCallOp>(
        op, op.getResultTypes(), op.getInputs(), op.getWhen(),
        makeOutputs(rewriter, op.getLoc(), op.getResultTypes()),
        op.getNumberAttr(), op.getCalleeAttr(),
        /*unsigned_inputs=*/DenseI64ArrayAttr(),
        rewriter.getStringAttr(sourcePlace(op.getLoc())));
    return success();
  }
};

} // namespace

void shoal::populateHostCallPatterns(RewritePatternSet &patterns,
                                     const ProgramNumbering &) {
  patterns.add<LowerPrint, LowerHostCall>(patterns.getContext());
}
