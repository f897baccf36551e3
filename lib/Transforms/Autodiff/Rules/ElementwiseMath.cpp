// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The functions of `math`.

#include "Rules.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shoal;

static constexpr double kTwoOverSqrtPi = 2 * llvm::numbers::inv_sqrtpi;

/// The density of erf: 2 / sqrt(pi) exp(-x^2).
static Expr erfSlope(Expr x) { return kTwoOverSqrtPi * exp(-(x * x)); }

/// 1, -1 or 0; 0 of NaN.
static Expr signOf(Expr x) {
  return (x > 0).choose(x.number(1), (x < 0).choose(x.number(-1), x.number(0)));
}

namespace {

/// A power of an integer: n x^(n-1), and 0 where n is 0.
struct IntegerPower
    : DifferentiableOpInterface::ExternalModel<IntegerPower, math::FPowIOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    auto op = cast<math::FPowIOp>(operation);
    TensorBuilder &b = vjp.b;
    Value n = op.getRhs();
    Value one = b.splat(n.getType(), int64_t(1));
    Value less = arith::SubIOp::create(b, n, one);
    Expr slope(b, math::FPowIOp::create(b, op.getLhs(), less));
    Expr count(b, arith::SIToFPOp::create(b, op.getType(), n));
    Expr g(b, vjp.cotangent());
    vjp.add(0, (count == 0).choose(g.number(0), g * count * slope).get());
    return success();
  }
};

} // namespace

static void addRoots(MLIRContext *context) {
  using namespace math;
  using E = Expr;
  elementwise<SqrtOp>(context, [](E g, E, E y) { return 0.5 * g / y; });
  elementwise<RsqrtOp>(context, [](E g, E x, E y) { return -0.5 * g * y / x; });
  elementwise<CbrtOp>(context, [](E g, E, E y) { return g / (3 * y * y); });
  // 0 where the slope's factor is: JAX has NaN at 0 to the power of 0.
  elementwise<PowFOp>(
      context,
      [](E g, E a, E b, E) {
        return (b == 0).choose(g.number(0), g * b * pow(a, b - 1));
      },
      [](E g, E a, E, E y) {
        return (a == 0).choose(g.number(0), g * y * log(a));
      });
  FPowIOp::attachInterface<IntegerPower>(*context);
}

static void addExponentials(MLIRContext *context) {
  using namespace math;
  using E = Expr;
  elementwise<ExpOp>(context, [](E g, E, E y) { return g * y; });
  elementwise<Exp2Op>(context,
                      [](E g, E, E y) { return g * y * llvm::numbers::ln2; });
  elementwise<ExpM1Op>(context, [](E g, E, E y) { return g * (y + 1); });
  elementwise<LogOp>(context, [](E g, E x, E) { return g / x; });
  elementwise<Log2Op>(context,
                      [](E g, E x, E) { return g / (x * llvm::numbers::ln2); });
  elementwise<Log10Op>(
      context, [](E g, E x, E) { return g / (x * llvm::numbers::ln10); });
  elementwise<Log1pOp>(context, [](E g, E x, E) { return g / (1 + x); });
  elementwise<ErfOp>(context, [](E g, E x, E) { return g * erfSlope(x); });
  elementwise<ErfcOp>(context, [](E g, E x, E) { return -g * erfSlope(x); });
}

static void addAngles(MLIRContext *context) {
  using namespace math;
  using E = Expr;
  elementwise<SinOp>(context, [](E g, E x, E) { return g * cos(x); });
  elementwise<CosOp>(context, [](E g, E x, E) { return -g * sin(x); });
  elementwise<TanOp>(context, [](E g, E, E y) { return g * (1 + y * y); });
  elementwise<AsinOp>(context,
                      [](E g, E x, E) { return g * rsqrt(1 - x * x); });
  elementwise<AcosOp>(context,
                      [](E g, E x, E) { return -g * rsqrt(1 - x * x); });
  elementwise<AtanOp>(context, [](E g, E x, E) { return g / (1 + x * x); });
  elementwise<Atan2Op>(
      context, [](E g, E a, E b, E) { return g * (b / (a * a + b * b)); },
      [](E g, E a, E b, E) { return -g * (a / (a * a + b * b)); });
  elementwise<SinhOp>(context, [](E g, E x, E) { return g * cosh(x); });
  elementwise<CoshOp>(context, [](E g, E x, E) { return g * sinh(x); });
  elementwise<TanhOp>(context, [](E g, E, E y) { return g * (1 - y * y); });
  elementwise<AsinhOp>(context,
                       [](E g, E x, E) { return g * rsqrt(x * x + 1); });
  elementwise<AcoshOp>(
      context, [](E g, E x, E) { return g * rsqrt((x - 1) * (x + 1)); });
  elementwise<AtanhOp>(context, [](E g, E x, E) { return g / (1 - x * x); });
}

static void addOthers(MLIRContext *context) {
  using namespace math;
  using E = Expr;
  // 1 at 0, as of select(x >= 0, x, -x).
  elementwise<AbsFOp>(context,
                      [](E g, E x, E) { return (x >= 0).choose(g, -g); });
  elementwise<CopySignOp>(
      context, [](E g, E a, E, E y) { return g * signOf(a) * signOf(y); },
      NoRule());
  elementwise<FmaOp>(
      context, [](E g, E, E b, E, E) { return g * b; },
      [](E g, E a, E, E, E) { return g * a; },
      [](E g, E, E, E, E) { return g; });
  noGradient<CeilOp, FloorOp, RoundOp, RoundEvenOp, TruncOp>(
      context, [] { return "its result is constant between steps"; });
  noGradient<AbsIOp, CountLeadingZerosOp, CountTrailingZerosOp, CtPopOp,
             IPowIOp, IsFiniteOp, IsInfOp, IsNaNOp, IsNormalOp>(
      context, [] { return "its result is of whole numbers, or of bits"; });
}

void shoal::registerElementwiseMathDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    addRoots(context);
    addExponentials(context);
    addAngles(context);
    addOthers(context);
  });
}
