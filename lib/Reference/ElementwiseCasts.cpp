// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/ElementwiseOps.h"
#include <cmath>
#include <limits>

using namespace mlir;

namespace shoal::reference {

/// Towards zero; a NaN gives 0, what lies outside saturates in 64 bits (arith
/// leaves both undefined).
template <typename Integer>
static Integer toInteger(double value) {
  using Limits = std::numeric_limits<Integer>;
  if (std::isnan(value))
    return 0;
  // 2^63 or 2^64, the first double above every Integer.
  double past = std::ldexp(1.0, Limits::digits);
  if (value >= past)
    return Limits::max();
  if (value <= static_cast<double>(Limits::min()))
    return Limits::min();
  return static_cast<Integer>(value);
}

template <typename Op>
static FailureOr<Tensors> evaluateBitcast(Op op, ArrayRef<Tensor> operands) {
  return Tensors{Tensor::fromBytes(resultType(op), operands[0].toBytes())};
}

using F = double;
using S = int64_t;
using U = uint64_t;

void registerElementwiseCastsModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *c, arith::ArithDialect *) {
    attachElementwise<arith::ExtFOp, [](F a) { return a; }>(c);
    attachElementwise<arith::TruncFOp, [](F a) { return a; }>(c);
    attachElementwise<arith::ExtSIOp, [](S a) { return a; }>(c);
    attachElementwise<arith::ExtUIOp, [](U a) { return a; }>(c);
    attachElementwise<arith::TruncIOp, [](S a) { return a; }>(c);
    attachElementwise<arith::IndexCastOp, [](S a) { return a; }>(c);
    attachElementwise<arith::IndexCastUIOp, [](U a) { return a; }>(c);
    attachElementwise<arith::SIToFPOp, [](S a) { return F(a); }>(c);
    attachElementwise<arith::UIToFPOp, [](U a) { return F(a); }>(c);
    attachElementwise<arith::FPToSIOp, [](F a) { return toInteger<S>(a); }>(c);
    attachElementwise<arith::FPToUIOp, [](F a) { return toInteger<U>(a); }>(c);
    attach<arith::BitcastOp, evaluateBitcast<arith::BitcastOp>>(c);
  });
  registry.addExtension(+[](MLIRContext *c, ShoalDialect *) {
    attach<BitcastConvertOp, evaluateBitcast<BitcastConvertOp>>(c);
  });
}

} // namespace shoal::reference
