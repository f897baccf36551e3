// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Families.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/FourierOps.h"

using namespace mlir;
using namespace shoal;

namespace {

struct LowerFft : OpRewritePattern<FftOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(FftOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<rt::FftOp>(
        op, op->getResultTypes(), op.getInputs(),
        makeOutputs(rewriter, op.getLoc(), op->getResultTypes()), op.getDim(),
        op.getInverse(), /*scratch=*/Value());
    return success();
  }
};

} // namespace

void shoal::populateFourierPatterns(RewritePatternSet &patterns,
                                    const ProgramNumbering &) {
  patterns.add<LowerFft>(patterns.getContext());
}
