// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combiner.h"
#include "Families.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "shoal/Dialect/Shoal/IR/FloatTypes.h"

using namespace mlir;
using namespace shoal;

namespace {

struct LowerRaggedEinsum : OpRewritePattern<RaggedEinsumOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RaggedEinsumOp op,
                                PatternRewriter &rewriter) const override {
    Type result = op.getType().getElementType();
    Type element = getElementTypeOrSelf(op.getLhs().getType());
    // 16 bits hold all of f8.
    if (isFloat8(element) && result.getIntOrFloatBitWidth() == 32)
      element = rewriter.getBF16Type();
    if (!rt::RaggedEinsumOp::multiplies(element, result))
      element = result;
    auto convert = [&](Value value) {
      return convertTo(rewriter, op.getLoc(), value, element);
    };
    Value output = makeOutput(rewriter, op.getLoc(), op.getType());
    rewriter.replaceOpWithNewOp<rt::RaggedEinsumOp>(
        op, TypeRange(op.getType()), convert(op.getLhs()), convert(op.getRhs()),
        op.getBegins(), op.getEnds(), output, op.getSpecAttr(),
        op.getRowsAttr(), /*scratch=*/Value());
    return success();
  }
};

} // namespace

void shoal::populateContractionRaggedPatterns(RewritePatternSet &patterns,
                                              const ProgramNumbering &) {
  patterns.add<LowerRaggedEinsum>(patterns.getContext());
}
