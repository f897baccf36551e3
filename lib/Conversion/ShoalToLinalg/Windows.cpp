// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// reduce_window and select_and_scatter: loops over windows and their places.

#include "Combiner.h"
#include "Families.h"
#include "WindowLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "shoal/Dialect/Shoal/IR/WindowsOps.h"

using namespace mlir;
using namespace shoal;

/// The rows that windows over `input` read, in order.
static Value padInput(OpBuilder &builder, Location loc, Value input,
                      ArrayRef<WindowDim> window, ArrayRef<int64_t> windows,
                      TypedAttr fill) {
  SmallVector<Places> places;
  for (auto [dim, count] : llvm::zip_equal(window, windows))
    places.push_back(Places::ofWindows(dim, count));
  return spreadRows(builder, loc, input, places, fill);
}

namespace {

struct LowerReduceWindow : OpRewritePattern<ReduceWindowOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ReduceWindowOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    ReduceKind kind = op.getKind();
    RankedTensorType type = op.getType();
    Type accumulator = getAccumulator(kind, type.getElementType());
    SmallVector<WindowDim> window = op.getWindowDims();
    Value input =
        padInput(rewriter, loc, op.getInput(), window, type.getShape(),
                 getIdentity(kind, type.getElementType()));
    Value init =
        makeSpread(rewriter, loc, op.getInit(), type.clone(accumulator));
    WindowLoops loops(window, rewriter.getContext());
    Value reduced = loops.reduce(
        rewriter, loc, input, loops.readMap(), init,
        [&](OpBuilder &b, ValueRange in, ValueRange sofar) {
          Value next = convertTo(b, loc, in[0], accumulator);
          return SmallVector<Value>{combine(b, loc, kind, sofar[0], next)};
        })[0];
    rewriter.replaceOp(
        op, convertTo(rewriter, loc, reduced, type.getElementType()));
    return success();
  }
};

/// First the place that each window selects, as a number; then for each element
/// of the result the sum over the windows that it stands in, of the source
/// where the window has selected it.
struct LowerSelectAndScatter : OpRewritePattern<SelectAndScatterOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SelectAndScatterOp op,
                                PatternRewriter &rewriter) const override {
    // No window fits: there is nothing to add, nor rows to spread.
    if (tensorTypeOf(op.getSource()).getNumElements() == 0) {
      rewriter.replaceOp(
          op, makeSpread(rewriter, op.getLoc(), op.getInit(), op.getType()));
      return success();
    }
    Value selected = select(rewriter, op);
    rewriter.replaceOp(op, scatter(rewriter, op, selected));
    return success();
  }

private:
  /// i1: whether a is beyond b, NaN being beyond all numbers.
  static Value isBeyond(OpBuilder &b, Location loc, ReduceKind kind, Value lhs,
                        Value rhs) {
    bool isMax = kind == ReduceKind::Max;
    if (!isa<FloatType>(lhs.getType()))
      return arith::CmpIOp::create(
          b, loc, isMax ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt,
          lhs, rhs);
    Value isBeyond = arith::CmpFOp::create(
        b, loc, isMax ? arith::CmpFPredicate::UGT : arith::CmpFPredicate::ULT,
        lhs, rhs);
    Value isNumber =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, rhs, rhs);
    return arith::AndIOp::create(b, loc, isBeyond, isNumber);
  }

  static Value select(OpBuilder &builder, SelectAndScatterOp op) {
    Location loc = op.getLoc();
    ArrayRef<int64_t> windows = tensorTypeOf(op.getSource()).getShape();
    SmallVector<WindowDim> window = op.getWindowDims();
    TypedAttr padding =
        getIdentity(op.getKind(), op.getType().getElementType());
    Value input =
        padInput(builder, loc, op.getInput(), window, windows, padding);
    Value inits[] = {
        makeFilled(builder, loc, windows, padding),
        makeFilled(builder, loc, windows, builder.getI32IntegerAttr(-1))};
    WindowLoops loops(window, builder.getContext());
    auto body = [&](OpBuilder &b, ValueRange in, ValueRange best) {
      Value none = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(-1));
      Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                            best[1], none);
      Value isBetter = isBeyond(b, loc, op.getKind(), in[0], best[0]);
      if (op.getLast()) {
        Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
        isBetter = isBeyond(b, loc, op.getKind(), best[0], in[0]);
        isBetter = arith::XOrIOp::create(b, loc, isBetter, yes);
      }
      Value take = arith::OrIOp::create(b, loc, isFirst, isBetter);
      Value place = loops.placeNumber(b, loc);
      return SmallVector<Value>{
          arith::SelectOp::create(b, loc, take, in[0], best[0]),
          arith::SelectOp::create(b, loc, take, place, best[1])};
    };
    return loops.reduce(builder, loc, input, loops.readMap(), inits, body)[1];
  }

  /// The windows that row r stands in have it at places k where
  /// r + low - k is a multiple of the stride. With the windows spread that far
  /// apart, and size - 1 - low places before the first, the one for place k is
  /// at r + size - 1 - k.
  static Value scatter(OpBuilder &builder, SelectAndScatterOp op,
                       Value selected) {
    Location loc = op.getLoc();
    RankedTensorType type = op.getType();
    Type element = type.getElementType();
    Type accumulator = getAccumulator(ReduceKind::Sum, element);
    SmallVector<WindowDim> window = op.getWindowDims();
    SmallVector<Places> places;
    for (auto [dim, rows] : llvm::zip_equal(window, type.getShape()))
      places.push_back(
          {dim.size - 1 - dim.low, dim.stride, rows + dim.size - 1});
    Value source = spreadRows(builder, loc, op.getSource(), places,
                              getIdentity(ReduceKind::Sum, element));
    selected = spreadRows(builder, loc, selected, places,
                          builder.getI32IntegerAttr(-1));

    WindowLoops loops(window, builder.getContext());
    SmallVector<AffineExpr> exprs;
    for (auto [d, dim] : llvm::enumerate(window))
      exprs.push_back(loops.outer(d) - loops.inner(d) + (dim.size - 1));
    AffineMap maps[] = {loops.map(exprs), loops.map(exprs)};
    Value init =
        makeSpread(builder, loc, op.getInit(), type.clone(accumulator));
    auto body = [&](OpBuilder &b, ValueRange in, ValueRange sofar) {
      Value hits = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                         in[1], loops.placeNumber(b, loc));
      Value next = convertTo(b, loc, in[0], accumulator);
      Value sum = combine(b, loc, ReduceKind::Sum, sofar[0], next);
      return SmallVector<Value>{
          arith::SelectOp::create(b, loc, hits, sum, sofar[0])};
    };
    Value sum =
        loops.reduce(builder, loc, {source, selected}, maps, init, body)[0];
    return convertTo(builder, loc, sum, element);
  }
};

} // namespace

void shoal::populateWindowsPatterns(RewritePatternSet &patterns,
                                    const ProgramNumbering &) {
  patterns.add<LowerReduceWindow, LowerSelectAndScatter>(patterns.getContext());
}
