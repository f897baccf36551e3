// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Descriptor.h"
#include "Families.h"
#include "shoal/Dialect/Shoal/IR/OrderingOps.h"

using namespace mlir;
using namespace shoal;

namespace {

struct LowerTopK : OpRewritePattern<TopKOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(TopKOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getInput().getType());
    Descriptor desc;
    desc.addType(type).add(type.getRank()).addShape(type).add(op.getK());
    rewriter.replaceOp(op, makeRuntimeCall(rewriter, op.getLoc(), "top_k",
                                           desc.get(), op.getInput(),
                                           op->getResultTypes()));
    return success();
  }
};

struct LowerSort : OpRewritePattern<SortOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SortOp op,
                                PatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(op.getInputs()[0].getType());
    Descriptor desc;
    desc.add(op.getInputs().size()).add(op.getNumKeys());
    desc.add(op.getDescending()).add(op.getDim());
    desc.add(type.getRank()).addShape(type);
    for (Value input : op.getInputs())
      desc.addType(input.getType());
    rewriter.replaceOp(op, makeRuntimeCall(rewriter, op.getLoc(), "sort",
                                           desc.get(), op.getInputs(),
                                           op->getResultTypes()));
    return success();
  }
};

} // namespace

void shoal::populateOrderingPatterns(RewritePatternSet &patterns,
                                     const ProgramNumbering &) {
  patterns.add<LowerTopK, LowerSort>(patterns.getContext());
}
