// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// math on tensors.

#include "Generators.h"
#include <cmath>

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

/// Functions with a slope of at most `slope` on [-bound, bound].
namespace {
struct Smooth {
  const char *name;
  /// The largest operand, result and slope.
  double operand, result, slope;
};
} // namespace

static constexpr Smooth kSmooth[] = {
    {"math.tanh", 1e30, 1, 1},  {"math.erf", 1e30, 1, 1.2},
    {"math.sin", 100, 1, 1},    {"math.cos", 100, 1, 1},
    {"math.exp", 4, 55, 55},    {"math.exp2", 5, 32, 23},
    {"math.expm1", 4, 55, 55},  {"math.atan", 1e30, 1.6, 1},
    {"math.sinh", 4, 28, 28},   {"math.cosh", 4, 28, 28},
    {"math.asinh", 1000, 8, 1}, {"math.erfc", 1e30, 2, 1.2},
};

static bool makeSmooth(ProgramBuilder &p) {
  const Smooth &function = p.choices.pick(kSmooth);
  auto a = p.pick([&](const Known &k) {
    return k.isFloat() && k.range.bound <= function.operand;
  });
  if (!a)
    return false;
  Bounds range =
      smooth(a->range, function.result, function.slope, a->element());
  if (!isUsable(range, a->element()))
    return false;
  p.add(p.op(function.name, a->value, a->type())->getResult(0), range);
  return true;
}

/// Functions of |x| + 1, which is at least 1.
static constexpr Smooth kAboveOne[] = {
    {"math.sqrt", 1e30, 0, 1},  {"math.rsqrt", 1e30, 1, 1},
    {"math.log", 1e30, 0, 1},   {"math.log2", 1e30, 0, 1.5},
    {"math.log1p", 1e30, 0, 1}, {"math.cbrt", 1e30, 0, 1},
    {"math.log10", 1e30, 0, 1},
};

static bool makeAboveOne(ProgramBuilder &p) {
  const Smooth &function = p.choices.pick(kAboveOne);
  auto a = p.pick([](const Known &k) { return k.isFloat(); });
  if (!a)
    return false;
  Type element = a->element();
  Known one = p.constant(a->type(), 1);
  Bounds above = sum(a->range, one.range, element);
  double bound =
      function.result ? function.result : std::max(std::sqrt(above.bound), 2.0);
  if (std::string_view(function.name) == "math.log2")
    bound *= 2;
  Bounds range = smooth(above, bound, function.slope, element);
  if (!isUsable(above, element) || !isUsable(range, element))
    return false;
  Value magnitude = p.op("math.absf", a->value, a->type())->getResult(0);
  Value operand =
      p.op("arith.addf", {magnitude, one.value}, a->type())->getResult(0);
  p.add(p.op(function.name, operand, a->type())->getResult(0), range);
  return true;
}

/// Steps, which only exact operands take everywhere alike.
static bool makeRounding(ProgramBuilder &p) {
  static constexpr const char *names[] = {
      "math.floor", "math.ceil", "math.trunc", "math.round", "math.roundeven"};
  auto a =
      p.pick([](const Known &k) { return k.isFloat() && k.range.isExact(); });
  if (!a)
    return false;
  Bounds range{a->range.bound + 1, 0, 0};
  range = roundedAlike(range, a->element());
  p.add(p.op(p.choices.pick(names), a->value, a->type())->getResult(0), range);
  return true;
}

static bool makeAbsolute(ProgramBuilder &p) {
  auto a = p.pick([](const Known &k) { return !k.element().isInteger(1); });
  if (!a)
    return false;
  StringRef name = a->isFloat() ? "math.absf" : "math.absi";
  p.add(p.op(name, a->value, a->type())->getResult(0), a->range);
  return true;
}

static bool makeFma(ProgramBuilder &p) {
  Known a = *p.pickFloat(), b = p.pickOfType(a.type()),
        c = p.pickOfType(a.type());
  Type element = a.element();
  Bounds range = sum(product(a.range, b.range, element), c.range, element);
  if (!isUsable(range, element))
    return false;
  p.add(p.op("math.fma", {a.value, b.value, c.value}, a.type())->getResult(0),
        range);
  return true;
}

static bool makeBitCount(ProgramBuilder &p) {
  static constexpr const char *names[] = {"math.ctpop", "math.ctlz",
                                          "math.cttz"};
  auto a = p.pick(
      [](const Known &k) { return !k.isFloat() && !k.element().isInteger(1); });
  if (!a)
    return false;
  p.add(p.op(p.choices.pick(names), a->value, a->type())->getResult(0),
        {64, 0, 0});
  return true;
}

/// The sign of an odd number, as the sign of a zero may differ.
static bool makeCopySign(ProgramBuilder &p) {
  auto sign = p.pick([](const Known &k) {
    return k.isFloat() && k.range.isWhole() &&
           k.range.bound < std::ldexp(1.0, precisionOf(k.element()) - 2);
  });
  if (!sign)
    return false;
  Known a = p.pickOfType(sign->type());
  Known one = p.constant(sign->type(), 1), two = p.constant(sign->type(), 2);
  Value even =
      p.op("arith.mulf", {sign->value, two.value}, a.type())->getResult(0);
  Value odd = p.op("arith.addf", {even, one.value}, a.type())->getResult(0);
  p.add(p.op("math.copysign", {a.value, odd}, a.type())->getResult(0), a.range);
  return true;
}

void shoal::fuzz::addElementwiseMathGenerators(Generators &generators) {
  generators.add("smooth math", makeSmooth, 6);
  generators.add("math above one", makeAboveOne, 4);
  generators.add("math rounding", makeRounding, 3);
  generators.add("math.abs", makeAbsolute, 3);
  generators.add("math.fma", makeFma, 3);
  generators.add("math bit count", makeBitCount, 2);
  generators.add("math.copysign", makeCopySign, 2);
}
