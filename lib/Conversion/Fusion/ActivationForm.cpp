// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ActivationForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace shoal;

auto ActivationForms::multiply(const Polynomial &a, const Polynomial &b)
    -> std::optional<Polynomial> {
  Polynomial product{};
  for (unsigned i = 0; i < kTerms; ++i)
    for (unsigned j = 0; j < kTerms; ++j) {
      double term = a[i] * b[j];
      if (i + j < kTerms)
        product[i + j] += term;
      else if (term != 0)
        return std::nullopt;
    }
  return product;
}

auto ActivationForms::add(const Form &a, const Form &b, double sign)
    -> std::optional<Form> {
  if (a.inner && b.inner && a.inner != b.inner)
    return std::nullopt;
  Form sum = a;
  for (unsigned i = 0; i < kTerms; ++i) {
    sum.plain[i] += sign * b.plain[i];
    sum.factor[i] += sign * b.factor[i];
  }
  sum.inner = a.inner ? a.inner : b.inner;
  return sum;
}

auto ActivationForms::multiply(const Form &a, const Form &b)
    -> std::optional<Form> {
  if (a.inner && b.inner)
    return std::nullopt;
  const Form &one = a.inner ? a : b, &other = a.inner ? b : a;
  auto plain = multiply(one.plain, other.plain);
  auto factor = multiply(one.factor, other.plain);
  if (!plain || !factor)
    return std::nullopt;
  return Form{*plain, *factor, one.inner};
}

static std::optional<double> getConstant(Value value) {
  APFloat number(0.0);
  if (!matchPattern(value, m_ConstantFloat(&number)))
    return std::nullopt;
  bool losesInfo;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.convertToDouble();
}

auto ActivationForms::formOf(Value value) -> std::optional<Form> {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  std::optional<Form> form = derive(value);
  known[value] = form;
  return form;
}

auto ActivationForms::derive(Value value) -> std::optional<Form> {
  if (value == x)
    return Form{{0, 1}, {}, std::nullopt};
  if (std::optional<double> number = getConstant(value))
    return Form{{*number}, {}, std::nullopt};
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() == 0 || op->getNumOperands() > 2)
    return std::nullopt;
  std::optional<Form> a = formOf(op->getOperand(0)), b = a;
  if (a && op->getNumOperands() == 2)
    b = formOf(op->getOperand(1));
  if (!a || !b)
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<Form>>(op)
      .Case([&](arith::AddFOp) { return add(*a, *b, 1); })
      .Case([&](arith::SubFOp) { return add(*a, *b, -1); })
      .Case([&](arith::NegFOp) { return add(Form(), *a, -1); })
      .Case([&](arith::MulFOp) { return multiply(*a, *b); })
      .Case([&](arith::DivFOp) -> std::optional<Form> {
        std::optional<double> divisor = getConstant(op->getOperand(1));
        if (!divisor || *divisor == 0)
          return std::nullopt;
        return multiply(*a, Form{{1 / *divisor}, {}, std::nullopt});
      })
      .Case([&](math::TanhOp) -> std::optional<Form> {
        if (a->inner)
          return std::nullopt;
        return Form{{}, {1}, a->plain};
      })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { return a; })
      .Default([](Operation *) { return std::nullopt; });
}

/// A constant in a narrow type is off by half a unit in its last place.
static bool isNear(double actual, double expected, Type type) {
  unsigned bits = cast<FloatType>(type).getFPMantissaWidth();
  return std::abs(actual - expected) <=
         std::abs(expected) * std::ldexp(4.0, -static_cast<int>(bits));
}

bool ActivationForms::isRelu(Value value) const {
  auto maximum = value.getDefiningOp<arith::MaximumFOp>();
  if (!maximum)
    return false;
  auto isZero = [](Value operand) {
    return matchPattern(operand, m_AnyZeroFloat());
  };
  return (maximum.getLhs() == x && isZero(maximum.getRhs())) ||
         (maximum.getRhs() == x && isZero(maximum.getLhs()));
}

bool ActivationForms::isGelu(Value value) {
  std::optional<Form> form = formOf(value);
  if (!form || !form->inner)
    return false;
  constexpr double kScale = llvm::numbers::sqrt2 * llvm::numbers::inv_sqrtpi;
  const Polynomial half = {0, 0.5}, inner = {0, kScale, 0, kScale * 0.044715};
  for (unsigned i = 0; i < kTerms; ++i)
    if (!isNear(form->plain[i], half[i], x.getType()) ||
        !isNear(form->factor[i], half[i], x.getType()) ||
        !isNear((*form->inner)[i], inner[i], x.getType()))
      return false;
  return true;
}

std::optional<rt::Activation> ActivationForms::match(Value value) {
  if (value.getType() != x.getType())
    return std::nullopt;
  if (isRelu(value))
    return rt::Activation::Relu;
  if (isGelu(value))
    return rt::Activation::Gelu;
  return std::nullopt;
}
