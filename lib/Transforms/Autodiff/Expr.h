// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Tensors with the operators of arithmetic, in which formulas of derivatives
// are written.

#ifndef SHOAL_LIB_TRANSFORMS_AUTODIFF_EXPR_H
#define SHOAL_LIB_TRANSFORMS_AUTODIFF_EXPR_H

#include "shoal/Dialect/Shoal/IR/TensorBuilder.h"

namespace shoal {

/// A tensor of floats, or a mask; all operands of an operator have one shape. A
/// number is a tensor of itself.
class Expr {
public:
  Expr(TensorBuilder &b, mlir::Value value) : b(&b), value(value) {}

  mlir::Value get() const { return value; }
  Expr with(mlir::Value other) const { return {*b, other}; }
  Expr number(double x) const { return with(b->splat(value.getType(), x)); }

  /// The op `Op` of this tensor: `x.apply<math::ExpOp>()`.
  template <typename Op, typename... Operands>
  Expr apply(Operands... others) const {
    return with(Op::create(*b, value, others.value...));
  }
  /// A mask. Comparisons with NaN are false, but for `!=`.
  Expr compare(mlir::arith::CmpFPredicate predicate, Expr other) const {
    return with(b->compare(predicate, value, other.value));
  }
  /// Where this mask is true x, else y.
  Expr choose(Expr x, Expr y) const {
    return with(b->select(value, x.value, y.value));
  }

  friend Expr operator+(Expr x, Expr y) {
    return x.with(x.b->add(x.value, y.value));
  }
  friend Expr operator-(Expr x, Expr y) {
    return x.with(x.b->sub(x.value, y.value));
  }
  friend Expr operator*(Expr x, Expr y) {
    return x.with(x.b->mul(x.value, y.value));
  }
  friend Expr operator/(Expr x, Expr y) {
    return x.with(x.b->div(x.value, y.value));
  }
  friend Expr operator+(Expr x, double y) { return x + x.number(y); }
  friend Expr operator-(Expr x, double y) { return x - x.number(y); }
  friend Expr operator*(Expr x, double y) { return x * x.number(y); }
  friend Expr operator/(Expr x, double y) { return x / x.number(y); }
  friend Expr operator+(double x, Expr y) { return y.number(x) + y; }
  friend Expr operator-(double x, Expr y) { return y.number(x) - y; }
  friend Expr operator*(double x, Expr y) { return y.number(x) * y; }
  friend Expr operator/(double x, Expr y) { return y.number(x) / y; }
  friend Expr operator-(Expr x) { return x.apply<mlir::arith::NegFOp>(); }

  friend Expr operator<(Expr x, Expr y) {
    return x.compare(mlir::arith::CmpFPredicate::OLT, y);
  }
  friend Expr operator>(Expr x, Expr y) {
    return x.compare(mlir::arith::CmpFPredicate::OGT, y);
  }
  friend Expr operator>=(Expr x, Expr y) {
    return x.compare(mlir::arith::CmpFPredicate::OGE, y);
  }
  friend Expr operator==(Expr x, Expr y) {
    return x.compare(mlir::arith::CmpFPredicate::OEQ, y);
  }
  friend Expr operator!=(Expr x, Expr y) {
    return x.compare(mlir::arith::CmpFPredicate::UNE, y);
  }
  friend Expr operator<(Expr x, double y) { return x < x.number(y); }
  friend Expr operator>(Expr x, double y) { return x > x.number(y); }
  friend Expr operator>=(Expr x, double y) { return x >= x.number(y); }
  friend Expr operator==(Expr x, double y) { return x == x.number(y); }
  friend Expr operator!=(Expr x, double y) { return x != x.number(y); }

private:
  TensorBuilder *b;
  mlir::Value value;
};

inline Expr exp(Expr x) { return x.apply<mlir::math::ExpOp>(); }
inline Expr log(Expr x) { return x.apply<mlir::math::LogOp>(); }
inline Expr sin(Expr x) { return x.apply<mlir::math::SinOp>(); }
inline Expr cos(Expr x) { return x.apply<mlir::math::CosOp>(); }
inline Expr sinh(Expr x) { return x.apply<mlir::math::SinhOp>(); }
inline Expr cosh(Expr x) { return x.apply<mlir::math::CoshOp>(); }
inline Expr rsqrt(Expr x) { return x.apply<mlir::math::RsqrtOp>(); }
inline Expr trunc(Expr x) { return x.apply<mlir::math::TruncOp>(); }
inline Expr pow(Expr x, Expr y) { return x.apply<mlir::math::PowFOp>(y); }

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_AUTODIFF_EXPR_H
