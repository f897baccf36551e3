// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Pairs of the same collective.

#include "SimplifyPatterns.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::spmd;

namespace {

/// Reductions over A, then over B: one over both, in which less is sent.
struct MergeReductions : OpRewritePattern<AllReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllReduceOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = soleUse<AllReduceOp>(op.getInput());
    if (!inner || inner.getMeshAttr() != op.getMeshAttr() ||
        inner.getKind() != op.getKind())
      return failure();
    AxisRefs axes(op.getAxes().getAxes());
    // An axis summed over twice multiplies.
    for (AxisRefAttr axis : inner.getAxes().getAxes())
      for (AxisRefAttr other : axes)
        if (overlap(axis, other, meshOf(op)))
          return failure();
    llvm::append_range(axes, inner.getAxes().getAxes());
    rewriter.replaceOpWithNewOp<AllReduceOp>(
        op, op.getType(), op.getKindAttr(), op.getMeshAttr(),
        AxesAttr::get(getContext(), axes), inner.getInput(), op.getWhyAttr());
    return success();
  }
};

/// all_to_all there and back.
struct CancelAllToAlls : OpRewritePattern<AllToAllOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllToAllOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<AllToAllOp>();
    // Several moves may share a dimension, whose order then matters.
    if (!inner || inner.getMeshAttr() != op.getMeshAttr() ||
        inner.getMoves().size() != 1 || op.getMoves().size() != 1 ||
        inner.getInput().getType() != op.getType())
      return failure();
    auto there = cast<MoveAttr>(inner.getMoves()[0]);
    auto back = cast<MoveAttr>(op.getMoves()[0]);
    if (there.getAxes() != back.getAxes() ||
        there.getSourceDim() != back.getTargetDim() ||
        there.getTargetDim() != back.getSourceDim())
      return failure();
    rewriter.replaceOp(op, inner.getInput());
    return success();
  }
};

/// Permutations one after the other are one; from and to the same places they
/// are none.
struct MergePermutes : OpRewritePattern<CollectivePermuteOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CollectivePermuteOp op,
                                PatternRewriter &rewriter) const override {
    if (op.getMeshAttr() == op.getTargetMeshAttr() &&
        op.getSourceAxes() == op.getTargetAxes() && op.getShift() == 0) {
      rewriter.replaceOp(op, op.getInput());
      return success();
    }
    auto inner = op.getInput().getDefiningOp<CollectivePermuteOp>();
    if (!inner || inner.getTargetMeshAttr() != op.getMeshAttr() ||
        inner.getTargetAxes() != op.getSourceAxes())
      return failure();
    // Both count indices over the same axes, in between.
    uint64_t shift = (inner.getShift() + op.getShift()) %
                     sizeOf(op.getSourceAxes().getAxes(), meshOf(op));
    rewriter.replaceOpWithNewOp<CollectivePermuteOp>(
        op, op.getType(), inner.getMeshAttr(), inner.getSourceAxes(),
        op.getTargetMeshAttr(), op.getTargetAxes(), inner.getInput(),
        rewriter.getI64IntegerAttr(shift), op.getWhyAttr());
    return success();
  }
};

} // namespace

void shoal::populatePairPatterns(RewritePatternSet &patterns) {
  patterns.add<MergeReductions, CancelAllToAlls, MergePermutes>(
      patterns.getContext());
}
