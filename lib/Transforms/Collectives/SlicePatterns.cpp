// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What an all_slice reads is often more than it needs.

#include "SimplifyPatterns.h"
#include "shoal/Dialect/Shoal/IR/LocationNotes.h"
#include "shoal/Support/CollectiveBytes.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::spmd;

namespace {

/// all_slice over S of all_slice over R: one over R, S.
struct MergeSlices : OpRewritePattern<AllSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto inner = op.getInput().getDefiningOp<AllSliceOp>();
    if (!inner || inner.getMeshAttr() != op.getMeshAttr())
      return failure();
    AxesPerDim first = toLists(inner.getAxes()), both = toLists(op.getAxes());
    if (overlap(first, both, meshOf(op)))
      return failure();
    for (auto [size, major, minor] :
         llvm::zip_equal(shapeOf(inner.getInput()), first, both)) {
      if (!blocksNest(size, major, minor, meshOf(op)))
        return failure();
      minor = concat(major, minor);
    }
    rewriter.replaceOpWithNewOp<AllSliceOp>(op, op.getType(), op.getMeshAttr(),
                                            toAttr(both, getContext()),
                                            inner.getInput(), op.getWhyAttr());
    return success();
  }
};

/// The all_gather of a dimension over P, R and the all_slice of it over P, S:
/// what P brought together it takes apart again.
struct Detour {
  AxisRefs common, gathered, sliced;

  Detour(const AxisRefs &gather, const AxisRefs &slice) {
    size_t n = 0;
    while (n < gather.size() && n < slice.size() && gather[n] == slice[n])
      ++n;
    common.assign(gather.begin(), gather.begin() + n);
    gathered.assign(gather.begin() + n, gather.end());
    sliced.assign(slice.begin() + n, slice.end());
  }
  /// Whether the blocks over P are whole blocks of either side.
  bool isExact(int64_t size, MeshAttr mesh) const {
    return blocksNest(size, common, gathered, mesh) &&
           blocksNest(size, common, sliced, mesh);
  }
};

/// all_slice over P, S of all_gather over P, R: all_slice over S of all_gather
/// over R, without those that have no axes left.
struct CancelGatherAndSlice : OpRewritePattern<AllSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto gather = op.getInput().getDefiningOp<AllGatherOp>();
    if (!gather || gather.getMeshAttr() != op.getMeshAttr())
      return failure();
    MeshAttr mesh = meshOf(op);
    AxesPerDim gathered, sliced;
    bool shares = false;
    for (auto [size, g, s] :
         llvm::zip_equal(shapeOf(op.getInput()), toLists(gather.getAxes()),
                         toLists(op.getAxes()))) {
      Detour detour(g, s);
      if (!detour.isExact(size, mesh))
        return failure();
      shares |= !detour.common.empty();
      gathered.push_back(detour.gathered);
      sliced.push_back(detour.sliced);
    }
    // A second, smaller all_gather beside one that others need costs.
    if (!shares || (!isEmpty(gathered) && !gather->hasOneUse()))
      return failure();
    Value value = gather.getInput();
    if (!isEmpty(gathered))
      value = AllGatherOp::create(
          rewriter, gather.getLoc(), gatheredType(value, op, sliced, mesh),
          op.getMeshAttr(), toAttr(gathered, getContext()), value,
          gather.getWhyAttr());
    if (!isEmpty(sliced))
      value = AllSliceOp::create(rewriter, op.getLoc(), op.getType(),
                                 op.getMeshAttr(), toAttr(sliced, getContext()),
                                 value, op.getWhyAttr());
    copyLayoutNote(op.getResult(), value);
    rewriter.replaceOp(op, value);
    return success();
  }

  /// The type between the new all_gather and the new all_slice: that of the
  /// old all_gather split over what both had.
  static RankedTensorType gatheredType(Value input, AllSliceOp op,
                                       const AxesPerDim &sliced,
                                       MeshAttr mesh) {
    AxesPerDim common = toLists(op.getAxes());
    for (auto [all, left] : llvm::zip_equal(common, sliced))
      all.truncate(all.size() - left.size());
    return cast<RankedTensorType>(input.getType())
        .clone(split(shapeOf(op.getInput()), common, mesh));
  }
};

/// all_gather over axes of one dimension, all_slice over the same of another:
/// an all_to_all, which sends a p-th. Not where a dimension is both gathered
/// and sliced: what a device is to have of it then lies in blocks that cross
/// those it has.
struct GatherAndSliceToAllToAll : OpRewritePattern<AllSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto gather = soleUse<AllGatherOp>(op.getInput());
    if (!gather || gather.getMeshAttr() != op.getMeshAttr())
      return failure();
    AxesPerDim from = toLists(gather.getAxes()), to = toLists(op.getAxes());
    for (auto [gathered, sliced] : llvm::zip_equal(from, to))
      if (!gathered.empty() && !sliced.empty())
        return failure();
    SmallVector<Attribute> moves;
    for (auto [source, axes] : llvm::enumerate(from)) {
      if (axes.empty())
        continue;
      auto *target = llvm::find(to, axes);
      if (target == to.end())
        return failure();
      moves.push_back(MoveAttr::get(getContext(),
                                    AxesAttr::get(getContext(), axes), source,
                                    target - to.begin()));
      target->clear();
    }
    if (!isEmpty(to))
      return failure();
    rewriter.replaceOpWithNewOp<AllToAllOp>(
        op, op.getType(), op.getMeshAttr(), rewriter.getArrayAttr(moves),
        gather.getInput(),
        op.getWhyAttr() ? op.getWhyAttr() : gather.getWhyAttr());
    return success();
  }
};

/// all_slice of all_reduce: over axes that are summed over, a reduce_scatter,
/// unless that sends more, which it does of fewer rows than half of the
/// devices, as some blocks are padding; over others, the slice goes first and
/// less is summed.
struct SliceOfAllReduce : OpRewritePattern<AllSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllSliceOp op,
                                PatternRewriter &rewriter) const override {
    auto reduce = soleUse<AllReduceOp>(op.getInput());
    if (!reduce || reduce.getMeshAttr() != op.getMeshAttr())
      return failure();
    AxisRefs left(reduce.getAxes().getAxes());
    AxesPerDim scattered(shapeOf(op.getInput()).size());
    AxesPerDim sliced = scattered;
    for (auto [d, axes] : llvm::enumerate(toLists(op.getAxes())))
      if (failed(place(axes, left, scattered[d], sliced[d], meshOf(op))))
        return failure();
    if (sendsMore(op, reduce, scattered, sliced, left))
      return failure();
    Value value = emit(op, reduce, scattered, sliced, left, rewriter);
    copyLayoutNote(op.getResult(), value);
    rewriter.replaceOp(op, value);
    return success();
  }

private:
  /// Decides for the axes of a dimension; those of a reduce_scatter leave
  /// `left`.
  static LogicalResult place(const AxisRefs &axes, AxisRefs &left,
                             AxisRefs &scattered, AxisRefs &sliced,
                             MeshAttr mesh) {
    if (llvm::all_of(axes, [&](AxisRefAttr axis) {
          return llvm::is_contained(left, axis);
        })) {
      scattered = axes;
      for (AxisRefAttr axis : axes)
        llvm::erase(left, axis);
      return success();
    }
    for (AxisRefAttr axis : axes)
      for (AxisRefAttr other : left)
        if (overlap(axis, other, mesh))
          return failure();
    sliced = axes;
    return success();
  }

  static bool sendsMore(AllSliceOp op, AllReduceOp reduce,
                        const AxesPerDim &scattered, const AxesPerDim &sliced,
                        const AxisRefs &left) {
    MeshAttr mesh = meshOf(op);
    int64_t block = op.getType().getNumElements(), group = 1;
    for (const AxisRefs &axes : scattered)
      group *= sizeOf(axes, mesh);
    int64_t after = support::reduceScatterSize(block, group) +
                    support::allReduceSize(block, sizeOf(left, mesh));
    return after >
           support::allReduceSize(ShapedType::getNumElements(split(
                                      shapeOf(op.getInput()), sliced, mesh)),
                                  sizeOf(reduce.getAxes().getAxes(), mesh));
  }

  static Value emit(AllSliceOp op, AllReduceOp reduce,
                    const AxesPerDim &scattered, const AxesPerDim &sliced,
                    const AxisRefs &left, PatternRewriter &rewriter) {
    MLIRContext *context = op.getContext();
    auto type = cast<RankedTensorType>(op.getInput().getType());
    FlatSymbolRefAttr symbol = op.getMeshAttr();
    Value value = reduce.getInput();
    if (!isEmpty(sliced)) {
      type = type.clone(split(type.getShape(), sliced, meshOf(op)));
      value =
          AllSliceOp::create(rewriter, op.getLoc(), type, symbol,
                             toAttr(sliced, context), value, op.getWhyAttr());
    }
    if (!isEmpty(scattered))
      value = ReduceScatterOp::create(
          rewriter, reduce.getLoc(), op.getType(), reduce.getKindAttr(), symbol,
          toAttr(scattered, context), value, reduce.getWhyAttr());
    if (!left.empty())
      value = AllReduceOp::create(
          rewriter, reduce.getLoc(), op.getType(), reduce.getKindAttr(), symbol,
          AxesAttr::get(context, left), value, reduce.getWhyAttr());
    return value;
  }
};

} // namespace

void shoal::populateSlicePatterns(RewritePatternSet &patterns) {
  patterns.add<MergeSlices, CancelGatherAndSlice, GatherAndSliceToAllToAll,
               SliceOfAllReduce>(patterns.getContext());
}
