// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combiner.h"
#include "Families.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"

using namespace mlir;
using namespace shoal;

namespace {

/// A loop per operand dimension, in the order of memory.
struct ReductionLoops {
  ReductionLoops(Builder &builder, int64_t rank, ArrayRef<int64_t> dims) {
    SmallVector<AffineExpr> others;
    for (int64_t dim = 0; dim < rank; ++dim) {
      bool reduced = llvm::is_contained(dims, dim);
      iterators.push_back(reduced ? utils::IteratorType::reduction
                                  : utils::IteratorType::parallel);
      if (!reduced)
        others.push_back(builder.getAffineDimExpr(dim));
    }
    whole = builder.getMultiDimIdentityMap(rank);
    kept = AffineMap::get(rank, 0, others, builder.getContext());
  }

  SmallVector<utils::IteratorType> iterators;
  AffineMap whole, kept;
};

/// Into a tensor that begins as the combiner's identity.
struct LowerReduce : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto inputType = cast<RankedTensorType>(op.getInput().getType());
    auto type = cast<RankedTensorType>(op.getResult().getType());
    ReduceKind kind = op.getKind();
    // Of any kind, as rounding each step would keep the loop from vectors; an
    // extremum in f32 is the same number.
    Type accumulator = getAccumulator(ReduceKind::Sum, type.getElementType());

    ReductionLoops loops(rewriter, inputType.getRank(), op.getDims());
    AffineMap maps[] = {loops.whole, loops.kept};
    Value init = makeFilled(rewriter, loc, type.getShape(),
                            getIdentity(kind, accumulator));
    auto reduced = linalg::GenericOp::create(
        rewriter, loc, init.getType(), op.getInput(), init, maps,
        loops.iterators,
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

/// Into tensors that begin as the inits. The combiner becomes the loop's body.
struct LowerReduceRegion : OpRewritePattern<ReduceRegionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceRegionOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    size_t count = op.getInputs().size();
    auto type = cast<RankedTensorType>(op.getInputs()[0].getType());
    ReductionLoops loops(rewriter, type.getRank(), op.getDims());
    SmallVector<AffineMap> maps(count, loops.whole);
    maps.append(count, loops.kept);
    SmallVector<Value> accumulated;
    for (auto [init, result] : llvm::zip_equal(op.getInits(), op.getResults()))
      accumulated.push_back(makeSpread(
          rewriter, loc, init, cast<RankedTensorType>(result.getType())));
    auto reduced = linalg::GenericOp::create(
        rewriter, loc, op.getResultTypes(), op.getInputs(), accumulated, maps,
        loops.iterators, [&](OpBuilder &nested, Location, ValueRange args) {
          inlineCombiner(op, nested, args);
        });
    rewriter.replaceOp(op, reduced.getResults());
    return success();
  }

private:
  /// Of linalg the inputs come first, of the combiner what was accumulated.
  static void inlineCombiner(ReduceRegionOp op, OpBuilder &builder,
                             ValueRange args) {
    size_t count = op.getInputs().size();
    SmallVector<Value> ordered(args.drop_front(count));
    llvm::append_range(ordered, args.take_front(count));
    Block &combiner = op.getCombiner().front();
    IRMapping mapping;
    mapping.map(combiner.getArguments(), ordered);
    for (Operation &inner : combiner.without_terminator())
      builder.clone(inner, mapping);
    SmallVector<Value> results;
    for (Value value : combiner.getTerminator()->getOperands())
      results.push_back(mapping.lookupOrDefault(value));
    linalg::YieldOp::create(builder, op.getLoc(), results);
  }
};

struct LowerCumulative : OpRewritePattern<CumulativeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(CumulativeOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getResult().getType();
    rewriter.replaceOpWithNewOp<rt::CumulativeOp>(
        op, TypeRange(type), op.getInput(),
        makeOutput(rewriter, op.getLoc(), type), op.getKind(), op.getDim(),
        op.getExclusive(), op.getReverse());
    return success();
  }
};

} // namespace

void shoal::populateReductionPatterns(RewritePatternSet &patterns,
                                      const ProgramNumbering &) {
  patterns.add<LowerReduce, LowerReduceRegion, LowerCumulative>(
      patterns.getContext());
}
