// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-expand-narrow-floats.

#include "ExpandFloat8.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "shoal/Conversion/Scalars/Passes.h"
#include "shoal/Dialect/Shoal/IR/FloatTypes.h"

using namespace mlir;
using shoal::isFloat8;

namespace shoal {
#define GEN_PASS_DEF_EXPANDNARROWFLOATS
#include "shoal/Conversion/Scalars/Passes.h.inc"
} // namespace shoal

/// Rounds an f64 to f32 so that rounding the result once more, to a type with
/// at most half the bits of precision, gives what one rounding would: an
/// inexact result gets an odd last bit (Boldo and Melquiond, "Emulation of
/// FMA and correctly rounded sums: proved algorithms using rounding to odd").
static Value roundToOdd(OpBuilder &builder, Location loc, Value wide) {
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type();
  auto constant = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(value));
  };
  Value nearest = arith::TruncFOp::create(builder, loc, f32, wide);
  Value back = arith::ExtFOp::create(builder, loc, wide.getType(), nearest);
  Value bits = arith::BitcastOp::create(builder, loc, i32, nearest);
  Value last = arith::AndIOp::create(builder, loc, bits, constant(1));
  Value isEven = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                       last, constant(0));
  // False for NaN, which stays as it is.
  Value isInexact = arith::CmpFOp::create(
      builder, loc, arith::CmpFPredicate::ONE, back, wide);
  Value isTooLarge =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT,
                            math::AbsFOp::create(builder, loc, back),
                            math::AbsFOp::create(builder, loc, wide));
  Value step = arith::SelectOp::create(builder, loc, isTooLarge, constant(-1),
                                       constant(1));
  Value odd = arith::AddIOp::create(builder, loc, bits, step);
  Value mustMove = arith::AndIOp::create(builder, loc, isEven, isInexact);
  Value rounded = arith::SelectOp::create(builder, loc, mustMove, odd, bits);
  return arith::BitcastOp::create(builder, loc, f32, rounded);
}

namespace {

struct RoundDoubleOnce : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isBF16() && !isFloat8(op.getType()))
      return failure();
    if (!op.getIn().getType().isF64())
      return failure();
    Value single = roundToOdd(rewriter, op.getLoc(), op.getIn());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), single);
    return success();
  }
};

struct ExtendBFloatToDouble : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getIn().getType().isBF16() || !op.getType().isF64())
      return failure();
    Value single = arith::ExtFOp::create(rewriter, op.getLoc(),
                                         rewriter.getF32Type(), op.getIn());
    rewriter.replaceOpWithNewOp<arith::ExtFOp>(op, op.getType(), single);
    return success();
  }
};

/// The one function of math that upstream does not extend to f32.
struct ExtendFma : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::FmaOp op,
                                PatternRewriter &rewriter) const override {
    if (!isa<FloatType>(op.getType()) ||
        op.getType().getIntOrFloatBitWidth() >= 32)
      return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(arith::ExtFOp::create(rewriter, op.getLoc(),
                                               rewriter.getF32Type(), operand));
    Value result = math::FmaOp::create(rewriter, op.getLoc(), operands[0],
                                       operands[1], operands[2]);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), result);
    return success();
  }
};

struct ExpandNarrowFloats
    : shoal::impl::ExpandNarrowFloatsBase<ExpandNarrowFloats> {
  using ExpandNarrowFloatsBase::ExpandNarrowFloatsBase;

  void runOnOperation() override {
    // Upstream's emulation lets a rounding be left out where the result is
    // extended again; then a value would depend on what has been fused.
    getOperation()->walk([](Operation *op) {
      if (auto round = dyn_cast<arith::TruncFOp>(op))
        round.setFastmath(arith::FastMathFlags::none);
      else if (auto extend = dyn_cast<arith::ExtFOp>(op))
        extend.setFastmath(arith::FastMathFlags::none);
    });
    RewritePatternSet patterns(&getContext());
    patterns.add<RoundDoubleOnce, ExtendBFloatToDouble, ExtendFma>(
        &getContext());
    shoal::populateExpandFloat8Patterns(patterns);
    if (!keepConversions)
      arith::populateExpandBFloat16Patterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
  }
};

} // namespace
