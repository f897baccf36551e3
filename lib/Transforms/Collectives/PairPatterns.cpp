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

/// Which index over the axes of a permute sends to which: those of the pairs,
/// or each to the one that is `shift` further.
struct Sends {
  int64_t p;
  std::optional<SmallVector<int64_t>> pairs;
  int64_t shift;

  explicit Sends(CollectivePermuteOp op)
      : p(sizeOf(op.getSourceAxes().getAxes(), meshOf(op))),
        shift(op.getShift()) {
    if (op.getPairs())
      pairs.emplace(*op.getPairs());
  }

  /// Pairs of all indices that all go as far are a shift.
  std::optional<int64_t> findShift() const {
    if (!pairs)
      return shift;
    if (static_cast<int64_t>(pairs->size()) != 2 * p)
      return std::nullopt;
    auto distance = [&](size_t i) {
      return ((*pairs)[i + 1] - (*pairs)[i] + p) % p;
    };
    for (size_t i = 2; i < pairs->size(); i += 2)
      if (distance(i) != distance(0))
        return std::nullopt;
    return distance(0);
  }

  /// The same with what is sent sent on.
  Sends then(const Sends &next) const {
    Sends both(*this);
    if (!pairs && !next.pairs) {
      both.shift = (shift + next.shift) % p;
      return both;
    }
    both.shift = 0;
    both.pairs.emplace();
    if (pairs) {
      for (size_t i = 0; i < pairs->size(); i += 2)
        if (int64_t target = next.receiverOf((*pairs)[i + 1]); target >= 0)
          both.pairs->append({(*pairs)[i], target});
    } else {
      for (size_t i = 0; i < next.pairs->size(); i += 2)
        both.pairs->append(
            {((*next.pairs)[i] + p - shift) % p, (*next.pairs)[i + 1]});
    }
    return both;
  }

private:
  int64_t receiverOf(int64_t index) const {
    if (!pairs)
      return (index + shift) % p;
    for (size_t i = 0; i < pairs->size(); i += 2)
      if ((*pairs)[i] == index)
        return (*pairs)[i + 1];
    return -1;
  }
};

/// Permutations one after the other are one; from and to the same places they
/// are none.
struct MergePermutes : OpRewritePattern<CollectivePermuteOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CollectivePermuteOp op,
                                PatternRewriter &rewriter) const override {
    Sends sends(op);
    std::optional<int64_t> shift = sends.findShift();
    if (op.getMeshAttr() == op.getTargetMeshAttr() &&
        op.getSourceAxes() == op.getTargetAxes() && shift == 0) {
      rewriter.replaceOp(op, op.getInput());
      return success();
    }
    if (shift && op.getPairs()) {
      rewriter.modifyOpInPlace(op, [&] {
        op.removePairsAttr();
        op.setShift(*shift);
      });
      return success();
    }
    return mergeWithInner(op, sends, rewriter);
  }

private:
  static LogicalResult mergeWithInner(CollectivePermuteOp op,
                                      const Sends &sends,
                                      PatternRewriter &rewriter) {
    auto inner = op.getInput().getDefiningOp<CollectivePermuteOp>();
    if (!inner || inner.getTargetMeshAttr() != op.getMeshAttr() ||
        inner.getTargetAxes() != op.getSourceAxes())
      return failure();
    // Both count indices over the same axes, in between.
    Sends both = Sends(inner).then(sends);
    rewriter.replaceOpWithNewOp<CollectivePermuteOp>(
        op, op.getType(), inner.getMeshAttr(), inner.getSourceAxes(),
        op.getTargetMeshAttr(), op.getTargetAxes(), inner.getInput(),
        rewriter.getI64IntegerAttr(both.shift),
        both.pairs ? rewriter.getDenseI64ArrayAttr(*both.pairs)
                   : DenseI64ArrayAttr(),
        op.getWhyAttr());
    return success();
  }
};

} // namespace

void shoal::populatePairPatterns(RewritePatternSet &patterns) {
  patterns.add<MergeReductions, CancelAllToAlls, MergePermutes>(
      patterns.getContext());
}
