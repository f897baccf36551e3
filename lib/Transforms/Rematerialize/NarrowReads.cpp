// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "NarrowReads.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;

/// The op's result, of the other operand's element type.
static mlir::Value cloneOn(PatternRewriter &rewriter, Operation *op,
                           mlir::Value source) {
  Operation *clone = rewriter.clone(*op);
  clone->setOperand(0, source);
  mlir::Value result = clone->getResult(0);
  result.setType(cast<RankedTensorType>(result.getType())
                     .clone(getElementTypeOrSelf(source.getType())));
  return result;
}

namespace {

/// slice(widen(x)) = widen(slice(x)).
struct SliceFirst : OpRewritePattern<DynamicSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DynamicSliceOp slice,
                                PatternRewriter &rewriter) const override {
    auto widened = slice->getOperand(0).getDefiningOp<arith::ExtFOp>();
    if (!widened || !llvm::all_of(widened->getUses(), [](OpOperand &use) {
          return isa<DynamicSliceOp>(use.getOwner()) &&
                 use.getOperandNumber() == 0;
        }))
      return failure();
    mlir::Value narrow = cloneOn(rewriter, slice, widened.getIn());
    rewriter.replaceOpWithNewOp<arith::ExtFOp>(slice, slice.getType(), narrow);
    return success();
  }
};

/// narrow(reshape(widen(x))) = reshape(x).
struct StayNarrow : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp narrowed,
                                PatternRewriter &rewriter) const override {
    auto reshape = narrowed.getIn().getDefiningOp<ReshapeOp>();
    if (!reshape)
      return failure();
    auto widened = reshape->getOperand(0).getDefiningOp<arith::ExtFOp>();
    if (!widened || getElementTypeOrSelf(widened.getIn().getType()) !=
                        getElementTypeOrSelf(narrowed.getType()))
      return failure();
    rewriter.replaceOp(narrowed, cloneOn(rewriter, reshape, widened.getIn()));
    return success();
  }
};

} // namespace

void remat::narrowReads(func::FuncOp function) {
  RewritePatternSet patterns(function.getContext());
  patterns.add<SliceFirst, StayNarrow>(function.getContext());
  GreedyRewriteConfig config;
  // Nothing else is simplified here.
  config.enableFolding(false).enableConstantCSE(false);
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  (void)applyPatternsGreedily(function, std::move(patterns), config);
}
