// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-expand-math.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "shoal/Conversion/Scalars/Passes.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_EXPANDMATH
#include "shoal/Conversion/Scalars/Passes.h.inc"
} // namespace shoal

namespace {

struct ExpandIsInf : OpRewritePattern<math::IsInfOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::IsInfOp op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = dyn_cast<FloatType>(op.getOperand().getType());
    if (!type)
      return failure();
    Value infinity = arith::ConstantOp::create(
        rewriter, loc,
        FloatAttr::get(type, llvm::APFloat::getInf(type.getFloatSemantics())));
    Value size = math::AbsFOp::create(rewriter, loc, op.getOperand());
    rewriter.replaceOpWithNewOp<arith::CmpFOp>(op, arith::CmpFPredicate::OEQ,
                                               size, infinity);
    return success();
  }
};

struct ExpandClamp : OpRewritePattern<math::ClampFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ClampFOp op,
                                PatternRewriter &rewriter) const override {
    Value low = arith::MaximumFOp::create(rewriter, op.getLoc(), op.getValue(),
                                          op.getMin());
    rewriter.replaceOpWithNewOp<arith::MinimumFOp>(op, low, op.getMax());
    return success();
  }
};

/// Squares once per bit of the exponent. A negative exponent leaves a whole
/// number of 1 and -1 only.
struct ExpandPower : OpRewritePattern<math::IPowIOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::IPowIOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<IntegerType>(op.getType());
    if (!type)
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantOp::create(
          b, IntegerAttr::get(type, llvm::APInt(type.getWidth(), value,
                                                /*isSigned=*/true,
                                                /*implicitTrunc=*/true)));
    };
    Value one = constant(1), zero = constant(0), minusOne = constant(-1);
    Value base = op.getLhs(), exponent = op.getRhs();
    Value bits = arith::ConstantIndexOp::create(b, type.getWidth());
    Value first = arith::ConstantIndexOp::create(b, 0);
    Value step = arith::ConstantIndexOp::create(b, 1);
    auto equals = [&](OpBuilder &nested, Value lhs, Value rhs) -> Value {
      return arith::CmpIOp::create(nested, op.getLoc(),
                                   arith::CmpIPredicate::eq, lhs, rhs);
    };
    auto loop = scf::ForOp::create(
        b, first, bits, step, ValueRange{one, base, exponent},
        [&](OpBuilder &nested, Location loc, Value, ValueRange carried) {
          Value odd = arith::AndIOp::create(nested, loc, carried[2], one);
          Value factor = arith::SelectOp::create(
              nested, loc, equals(nested, odd, one), carried[1], one);
          Value product =
              arith::MulIOp::create(nested, loc, carried[0], factor);
          Value square =
              arith::MulIOp::create(nested, loc, carried[1], carried[1]);
          // A bool has one bit; shifting by as many is not defined.
          Value rest =
              type.getWidth() == 1
                  ? zero
                  : Value(arith::ShRUIOp::create(nested, loc, carried[2], one));
          scf::YieldOp::create(nested, loc, ValueRange{product, square, rest});
        });
    Value isUnit = arith::OrIOp::create(b, equals(b, base, one),
                                        equals(b, base, minusOne));
    Value isNegative =
        arith::CmpIOp::create(b, arith::CmpIPredicate::slt, exponent, zero);
    Value inverse = arith::SelectOp::create(b, isUnit, loop.getResult(0), zero);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isNegative, inverse,
                                                 loop.getResult(0));
    return success();
  }
};

struct ExpandMath : shoal::impl::ExpandMathBase<ExpandMath> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandIsInf, ExpandClamp, ExpandPower>(&getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
  }
};

} // namespace
