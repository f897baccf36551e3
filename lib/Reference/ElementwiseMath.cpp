// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combiner.h"
#include "Elementwise.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include <bit>
#include <cmath>

using namespace mlir;

namespace shoal::reference {

using F = double;
using S = int64_t;
using U = uint64_t;

static void attachExponentials(MLIRContext *c) {
  attachElementwise<math::ExpOp, [](F a) { return std::exp(a); }>(c);
  attachElementwise<math::Exp2Op, [](F a) { return std::exp2(a); }>(c);
  attachElementwise<math::ExpM1Op, [](F a) { return std::expm1(a); }>(c);
  attachElementwise<math::LogOp, [](F a) { return std::log(a); }>(c);
  attachElementwise<math::Log2Op, [](F a) { return std::log2(a); }>(c);
  attachElementwise<math::Log10Op, [](F a) { return std::log10(a); }>(c);
  attachElementwise<math::Log1pOp, [](F a) { return std::log1p(a); }>(c);
  attachElementwise<math::SqrtOp, [](F a) { return std::sqrt(a); }>(c);
  attachElementwise<math::RsqrtOp, [](F a) { return 1 / std::sqrt(a); }>(c);
  attachElementwise<math::CbrtOp, [](F a) { return std::cbrt(a); }>(c);
  attachElementwise<math::PowFOp, [](F a, F b) { return std::pow(a, b); }>(c);
  attachElementwise<math::FPowIOp, [](F a, S b) { return std::pow(a, F(b)); }>(
      c);
}

static void attachTrigonometry(MLIRContext *c) {
  attachElementwise<math::SinOp, [](F a) { return std::sin(a); }>(c);
  attachElementwise<math::CosOp, [](F a) { return std::cos(a); }>(c);
  attachElementwise<math::TanOp, [](F a) { return std::tan(a); }>(c);
  attachElementwise<math::AsinOp, [](F a) { return std::asin(a); }>(c);
  attachElementwise<math::AcosOp, [](F a) { return std::acos(a); }>(c);
  attachElementwise<math::AtanOp, [](F a) { return std::atan(a); }>(c);
  attachElementwise<math::Atan2Op, [](F a, F b) { return std::atan2(a, b); }>(
      c);
  attachElementwise<math::SinhOp, [](F a) { return std::sinh(a); }>(c);
  attachElementwise<math::CoshOp, [](F a) { return std::cosh(a); }>(c);
  attachElementwise<math::TanhOp, [](F a) { return std::tanh(a); }>(c);
  attachElementwise<math::AsinhOp, [](F a) { return std::asinh(a); }>(c);
  attachElementwise<math::AcoshOp, [](F a) { return std::acosh(a); }>(c);
  attachElementwise<math::AtanhOp, [](F a) { return std::atanh(a); }>(c);
  attachElementwise<math::ErfOp, [](F a) { return std::erf(a); }>(c);
  attachElementwise<math::ErfcOp, [](F a) { return std::erfc(a); }>(c);
}

static void attachRounding(MLIRContext *c) {
  attachElementwise<math::AbsFOp, [](F a) { return std::fabs(a); }>(c);
  attachElementwise<math::CopySignOp,
                    [](F a, F b) { return std::copysign(a, b); }>(c);
  attachElementwise<math::FloorOp, [](F a) { return std::floor(a); }>(c);
  attachElementwise<math::CeilOp, [](F a) { return std::ceil(a); }>(c);
  attachElementwise<math::TruncOp, [](F a) { return std::trunc(a); }>(c);
  attachElementwise<math::RoundOp, [](F a) { return std::round(a); }>(c);
  attachElementwise<math::RoundEvenOp, [](F a) { return std::nearbyint(a); }>(
      c);
  attachElementwise<math::FmaOp,
                    [](F a, F b, F d) { return std::fma(a, b, d); }>(c);
  attachElementwise<math::ClampFOp, [](F value, F low, F high) {
    return minimum(maximum(value, low), high);
  }>(c);
  attachElementwise<math::IsNaNOp, [](F a) { return S(std::isnan(a)); }>(c);
  attachElementwise<math::IsInfOp, [](F a) { return S(std::isinf(a)); }>(c);
  attachElementwise<math::IsFiniteOp, [](F a) { return S(std::isfinite(a)); }>(
      c);
}

/// The power modulo 2^64; a negative exponent truncates 1 / base^-exponent.
static int64_t integerPower(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1 || base == -1)
      return exponent % 2 ? base : 1;
    return 0;
  }
  uint64_t result = 1, square = base;
  for (; exponent; exponent >>= 1, square *= square)
    result *= exponent & 1 ? square : 1;
  return result;
}

/// Zeros above the highest one, or below the lowest, in the type's width.
template <typename Op, auto count>
static FailureOr<Tensors> evaluateZeroCount(Op op, ArrayRef<Tensor> operands) {
  Tensor result(resultType(op));
  ElementType type = result.getElementType();
  for (auto [element, input] :
       llvm::zip_equal(result.getMutableElements(), operands[0].getElements()))
    element.i =
        wrapTo(type, count(asUnsigned(type, input.i), int(bitWidth(type))));
  return Tensors{result};
}

static void attachIntegers(MLIRContext *c) {
  attachElementwise<math::AbsIOp, [](S a) { return a < 0 ? -U(a) : U(a); }>(c);
  attachElementwise<math::CtPopOp, [](U a) { return S(std::popcount(a)); }>(c);
  attachElementwise<math::IPowIOp, [](S a, S b) { return integerPower(a, b); }>(
      c);
  attach<math::CountLeadingZerosOp,
         evaluateZeroCount<math::CountLeadingZerosOp, [](U value, int width) {
           return std::countl_zero(value) - (64 - width);
         }>>(c);
  attach<math::CountTrailingZerosOp,
         evaluateZeroCount<math::CountTrailingZerosOp, [](U value, int width) {
           return std::min(std::countr_zero(value), width);
         }>>(c);
}

void registerElementwiseMathModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    attachExponentials(context);
    attachTrigonometry(context);
    attachRounding(context);
    attachIntegers(context);
  });
}

} // namespace shoal::reference
