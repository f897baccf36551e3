// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ExpandFloat8.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "shoal/Dialect/Shoal/IR/FloatTypes.h"

using namespace mlir;
using namespace shoal;

namespace {

/// A type of 8 bits by its bits of mantissa, the bias of its exponent, the
/// codes of its largest finite number's successor and of NaN, and the first
/// magnitude, as bits of an f32, that no finite number is nearest to.
struct Format {
  int mantissa, bias;
  uint32_t overflow, nan, tooLarge;

  /// The bits of mantissa that an f32 has more.
  int dropped() const { return 23 - mantissa; }
};

constexpr Format e4m3fn = {3, 7, 0x7f, 0x7f, 0x43e80001}; // above 464
constexpr Format e5m2 = {2, 15, 0x7c, 0x7e, 0x47700000};  // from 61440 on

Format formatOf(Type type) {
  return isa<Float8E4M3FNType>(type) ? e4m3fn : e5m2;
}

/// Operations on scalars of 32 bits.
class Words : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value word(uint32_t value) {
    return arith::ConstantOp::create(
        *this, getI32IntegerAttr(static_cast<int32_t>(value)));
  }
  Value both(Value a, Value b) { return arith::AndIOp::create(*this, a, b); }
  Value either(Value a, Value b) { return arith::OrIOp::create(*this, a, b); }
  Value add(Value a, Value b) { return arith::AddIOp::create(*this, a, b); }
  Value left(Value a, int by) {
    return arith::ShLIOp::create(*this, a, word(by));
  }
  Value right(Value a, int by) {
    return arith::ShRUIOp::create(*this, a, word(by));
  }
  /// Of words whose sign bit is 0.
  Value isBelow(Value a, uint32_t bound) {
    return arith::CmpIOp::create(*this, arith::CmpIPredicate::slt, a,
                                 word(bound));
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(*this, condition, a, b);
  }
  Value toFloat(Value bits) {
    return arith::BitcastOp::create(*this, getF32Type(), bits);
  }
  Value toBits(Value value) {
    return arith::BitcastOp::create(*this, getI32Type(), value);
  }
  Value single(double value) {
    return arith::ConstantOp::create(*this, getF32FloatAttr(value));
  }
};

} // namespace

/// The f32 of a code.
static Value extend(Words &b, Value code, const Format &format) {
  Value bits = arith::ExtUIOp::create(
      b, b.getI32Type(),
      arith::BitcastOp::create(b, b.getIntegerType(8), code));
  Value sign = b.left(b.both(bits, b.word(0x80)), 24);
  Value magnitude = b.both(bits, b.word(0x7f));
  // The exponent's bias becomes that of f32.
  Value normal = b.add(b.left(magnitude, format.dropped()),
                       b.word(uint32_t(127 - format.bias) << 23));
  // Subnormals are multiples of one unit.
  Value unit = b.single(std::ldexp(1.0, 1 - format.bias - format.mantissa));
  Value multiple = arith::SIToFPOp::create(b, b.getF32Type(), magnitude);
  Value subnormal = b.toBits(arith::MulFOp::create(b, multiple, unit));
  Value result =
      b.select(b.isBelow(magnitude, 1u << format.mantissa), subnormal, normal);
  if (format.overflow != format.nan)
    result = b.select(b.isBelow(magnitude, format.overflow), result,
                      b.word(0x7f800000));
  uint32_t firstNaN =
      format.overflow == format.nan ? format.nan : format.overflow + 1;
  result = b.select(b.isBelow(magnitude, firstNaN), result, b.word(0x7fc00000));
  return b.toFloat(b.either(sign, result));
}

/// The code of an f32.
static Value truncate(Words &b, Value value, Type type) {
  Format format = formatOf(type);
  Value bits = b.toBits(value);
  Value sign = b.both(b.right(bits, 24), b.word(0x80));
  Value magnitude = b.both(bits, b.word(0x7fffffff));
  // Adding half a unit less one, or half where the code would be odd.
  Value rebiased =
      b.add(magnitude, b.word(-(uint32_t(127 - format.bias) << 23)));
  Value isOdd = b.both(b.right(rebiased, format.dropped()), b.word(1));
  Value half = b.add(isOdd, b.word((1u << (format.dropped() - 1)) - 1));
  Value normal = b.right(b.add(rebiased, half), format.dropped());
  // A sum with this has the rounded multiple of the smallest number in its low
  // bits.
  int unit = 1 - format.bias + format.dropped();
  Value sum = arith::AddFOp::create(b, b.toFloat(magnitude),
                                    b.single(std::ldexp(1.0, unit)));
  Value subnormal = b.add(b.toBits(sum), b.word(-(uint32_t(127 + unit) << 23)));
  uint32_t smallestNormal = uint32_t(128 - format.bias) << 23;
  Value code =
      b.select(b.isBelow(magnitude, smallestNormal), subnormal, normal);
  code = b.select(b.isBelow(magnitude, format.tooLarge), code,
                  b.word(format.overflow));
  if (format.overflow != format.nan)
    code = b.select(b.isBelow(magnitude, 0x7f800001), code, b.word(format.nan));
  Value byte =
      arith::TruncIOp::create(b, b.getIntegerType(8), b.either(sign, code));
  return arith::BitcastOp::create(b, type, byte);
}

namespace {

struct ExtendFloat8 : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op,
                                PatternRewriter &rewriter) const override {
    if (!isFloat8(op.getIn().getType()))
      return failure();
    Words builder(op.getLoc(), rewriter);
    Value single = extend(builder, op.getIn(), formatOf(op.getIn().getType()));
    Type type = op.getType();
    if (type.isF32())
      rewriter.replaceOp(op, single);
    else if (type.isF64())
      rewriter.replaceOpWithNewOp<arith::ExtFOp>(op, type, single);
    else // Those of 16 bits hold every number of 8 bits.
      rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, single);
    return success();
  }
};

struct TruncateToFloat8 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    Type from = op.getIn().getType();
    if (!isFloat8(op.getType()) || !isa<FloatType>(from) || from.isF64())
      return failure();
    Words builder(op.getLoc(), rewriter);
    Value single = op.getIn();
    if (!from.isF32())
      single = arith::ExtFOp::create(builder, builder.getF32Type(), single);
    rewriter.replaceOp(op, truncate(builder, single, op.getType()));
    return success();
  }
};

} // namespace

void shoal::populateExpandFloat8Patterns(RewritePatternSet &patterns) {
  patterns.add<ExtendFloat8, TruncateToFloat8>(patterns.getContext());
}
