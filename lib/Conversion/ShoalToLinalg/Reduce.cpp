// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combiner.h"
#include "Patterns.h"

using namespace mlir;
using namespace shoal;

namespace {

/// A loop per operand dimension, in the order of memory, into a tensor that
/// begins as the combiner's identity.
struct LowerReduce : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto inputType = cast<RankedTensorType>(op.getInput().getType());
    auto type = cast<RankedTensorType>(op.getResult().getType());
    ReduceKind kind = op.getKind();
    Type accumulator = getAccumulator(kind, type.getElementType());

    SmallVector<AffineExpr> kept;
    SmallVector<utils::IteratorType> iterators;
    for (int64_t dim = 0; dim < inputType.getRank(); ++dim) {
      bool reduced = llvm::is_contained(op.getDims(), dim);
      iterators.push_back(reduced ? utils::IteratorType::reduction
                                  : utils::IteratorType::parallel);
      if (!reduced)
        kept.push_back(rewriter.getAffineDimExpr(dim));
    }
    AffineMap maps[] = {
        rewriter.getMultiDimIdentityMap(inputType.getRank()),
        AffineMap::get(inputType.getRank(), 0, kept, rewriter.getContext())};
    Value init = makeFilled(rewriter, loc, type.getShape(),
                            getIdentity(kind, accumulator));
    auto reduced = linalg::GenericOp::create(
        rewriter, loc, init.getType(), op.getInput(), init, maps, iterators,
        [&](OpBuilder &nested, Location nestedLoc, ValueRange args) {
          Value next = convertTo(nested, nestedLoc, args[0], accumulator);
          linalg::YieldOp::create(
              nested, nestedLoc,
              combine(nested, nestedLoc, kind, args[1], next));
        });
    rewriter.replaceOp(op, convertTo(rewriter, loc, reduced.getResult(0),
                                     type.getElementType()));
    return success();
  }
};

} // namespace

void shoal::populateReduceToLinalgPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerReduce>(patterns.getContext());
}
