// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The activations as composites.

#include "TensorBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shoal;

// maximumf, so that NaN stays NaN.
SmallVector<Value> ReluOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, *this);
  return {arith::MaximumFOp::create(b, getInput(), b.splat(getType(), 0.0))};
}

SmallVector<Value> SiluOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, *this);
  Value x = b.widen(getInput());
  Value exp = math::ExpOp::create(b, arith::NegFOp::create(b, x));
  return {b.convert(b.div(x, b.shift(exp, 1.0)), getType().getElementType())};
}

static constexpr double kSqrtHalf = 1.0 / llvm::numbers::sqrt2;
static constexpr double kSqrtTwoOverPi =
    llvm::numbers::sqrt2 * llvm::numbers::inv_sqrtpi;

/// 2 * Phi(x) - 1, in its tanh form.
static Value normalDistributionByTanh(TensorBuilder &b, Value x) {
  Value cube = b.mul(b.mul(x, x), x);
  Value inner = b.add(x, b.scale(cube, 0.044715));
  return math::TanhOp::create(b, b.scale(inner, kSqrtTwoOverPi));
}

SmallVector<Value> GeluOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, *this);
  Value x = b.widen(getInput());
  Value phi = getApproximate()
                  ? normalDistributionByTanh(b, x)
                  : math::ErfOp::create(b, b.scale(x, kSqrtHalf)).getResult();
  Value result = b.mul(b.scale(x, 0.5), b.shift(phi, 1.0));
  return {b.convert(result, getType().getElementType())};
}
