// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What an all_gather reads, and what others gather of the same.

#include "SimplifyPatterns.h"
#include "shoal/Sharding/Mesh.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::spmd;

namespace {

/// all_gather over R of all_gather over S: one over R, S. As many bytes, one
/// message less.
struct MergeGathers : OpRewritePattern<AllGatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllGatherOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = soleUse<AllGatherOp>(op.getInput());
    if (!inner || inner.getMeshAttr() != op.getMeshAttr())
      return failure();
    AxesPerDim both = toLists(op.getAxes()), minors = toLists(inner.getAxes());
    if (overlap(both, minors, meshOf(op)))
      return failure();
    for (auto [size, major, minor] :
         llvm::zip_equal(shapeOf(op.getResult()), both, minors)) {
      if (!blocksNest(size, major, minor, meshOf(op)))
        return failure();
      major = concat(major, minor);
    }
    rewriter.replaceOpWithNewOp<AllGatherOp>(op, op.getType(), op.getMeshAttr(),
                                             toAttr(both, getContext()),
                                             inner.getInput(), op.getWhyAttr());
    return success();
  }
};

/// all_gather of what an all_to_all brought to the gathered dimension: gather
/// it where it was.
struct GatherOfAllToAll : OpRewritePattern<AllGatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllGatherOp op,
                                PatternRewriter &rewriter) const override {
    auto exchange = soleUse<AllToAllOp>(op.getInput());
    if (!exchange || exchange.getMeshAttr() != op.getMeshAttr() ||
        exchange.getMoves().size() != 1)
      return failure();
    auto move = cast<MoveAttr>(exchange.getMoves()[0]);
    AxesPerDim axes = toLists(op.getAxes());
    AxisRefs moved(move.getAxes().getAxes());
    // By hand, an all_to_all may have brought rows that the all_gather drops.
    int64_t target = move.getTargetDim();
    if (axes[target] != moved || !axes[move.getSourceDim()].empty() ||
        shapeOf(exchange.getInput())[target] != shapeOf(op)[target])
      return failure();
    axes[move.getTargetDim()].clear();
    axes[move.getSourceDim()] = moved;
    rewriter.replaceOpWithNewOp<AllGatherOp>(
        op, op.getType(), op.getMeshAttr(), toAttr(axes, getContext()),
        exchange.getInput(), op.getWhyAttr());
    return success();
  }
};

/// Two all_gathers of one value, over S and over R, S: the second one starts
/// from the first, whose bytes it does not send again.
struct ShareGather : OpRewritePattern<AllGatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllGatherOp op,
                                PatternRewriter &rewriter) const override {
    AllGatherOp best;
    AxesPerDim bestLeft;
    for (Operation *user : op.getInput().getUsers()) {
      auto other = dyn_cast<AllGatherOp>(user);
      // One that no one reads is about to go.
      if (!other || other == op || other.use_empty() ||
          other->getBlock() != op->getBlock() ||
          other.getMeshAttr() != op.getMeshAttr() ||
          !other->isBeforeInBlock(op))
        continue;
      std::optional<AxesPerDim> left = findLeft(op, other);
      if (left && (!best || sizeOfType(best) < sizeOfType(other)))
        best = other, bestLeft = *left;
    }
    if (!best)
      return failure();
    rewriter.replaceOpWithNewOp<AllGatherOp>(op, op.getType(), op.getMeshAttr(),
                                             toAttr(bestLeft, getContext()),
                                             best.getResult(), op.getWhyAttr());
    return success();
  }

private:
  static int64_t sizeOfType(AllGatherOp op) {
    return cast<RankedTensorType>(op.getType()).getNumElements();
  }

  /// The axes that `op` gathers besides those of `other`; nothing where
  /// `other` is not a part of it, as one that drops rows at the end is not.
  static std::optional<AxesPerDim> findLeft(AllGatherOp op, AllGatherOp other) {
    AxesPerDim left, minors = toLists(other.getAxes());
    for (auto [size, part, all, minor] :
         llvm::zip_equal(shapeOf(op.getResult()), shapeOf(other.getResult()),
                         toLists(op.getAxes()), minors)) {
      if (minor.size() > all.size() ||
          ArrayRef(all).take_back(minor.size()) != ArrayRef(minor))
        return std::nullopt;
      AxisRefs &major = left.emplace_back(all);
      major.truncate(all.size() - minor.size());
      if (!blocksNest(size, major, minor, meshOf(op)) ||
          part != shardSize(size, sizeOf(major, meshOf(op))))
        return std::nullopt;
    }
    return isEmpty(left) ? std::nullopt : std::optional(left);
  }
};

} // namespace

void shoal::populateGatherPatterns(RewritePatternSet &patterns) {
  patterns.add<MergeGathers, GatherOfAllToAll, ShareGather>(
      patterns.getContext());
}
