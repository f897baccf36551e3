// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// arith on tensors: the same element of each operand.

#include "Generators.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

static Known anyOperand(ProgramBuilder &p,
                        function_ref<bool(const Known &)> suits,
                        function_ref<Type()> element) {
  return p.pickOr(suits, [&] { return p.tensor(p.shape(0, 4), element()); });
}

static Known floatOperand(ProgramBuilder &p) {
  return anyOperand(
      p, [](const Known &k) { return k.isFloat(); },
      [&] { return p.floatType(); });
}

static Known integerOperand(ProgramBuilder &p) {
  return anyOperand(
      p,
      [](const Known &k) { return !k.isFloat() && !k.element().isInteger(1); },
      [&] { return p.integerType(); });
}

static bool addChecked(ProgramBuilder &p, StringRef name, ValueRange operands,
                       Bounds range) {
  Type type = operands[0].getType();
  if (!isUsable(range, getElementTypeOrSelf(type)))
    return false;
  p.add(p.op(name, operands, type)->getResult(0), range);
  return true;
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

static bool makeFloatBinary(ProgramBuilder &p) {
  Known a = floatOperand(p), b = p.pickOfType(a.type());
  Type element = a.element();
  switch (p.choices.below(5)) {
  case 0:
    return addChecked(p, "arith.addf", {a.value, b.value},
                      sum(a.range, b.range, element));
  case 1:
    return addChecked(p, "arith.subf", {a.value, b.value},
                      sum(a.range, b.range, element));
  case 2:
    return addChecked(p, "arith.mulf", {a.value, b.value},
                      product(a.range, b.range, element));
  case 3:
    return addChecked(p, "arith.maximumf", {a.value, b.value},
                      either(a.range, b.range));
  default:
    return addChecked(p, "arith.minnumf", {a.value, b.value},
                      either(a.range, b.range));
  }
}

/// a / (|b| + 1).
static bool makeDivision(ProgramBuilder &p) {
  Known a = floatOperand(p), b = p.pickOfType(a.type());
  Type element = a.element();
  Known one = p.constant(a.type(), 1);
  Value magnitude = p.op("math.absf", b.value, b.type())->getResult(0);
  Bounds above = sum(b.range, one.range, element);
  if (!isUsable(above, element))
    return false;
  Value divisor =
      p.op("arith.addf", {magnitude, one.value}, a.type())->getResult(0);
  double slope = a.range.error + a.range.bound * above.error;
  // Not exact where the numerator is: it may be divided as a sum of addends.
  Bounds range = smooth({0, 0, slope}, a.range.bound, 1, element);
  return addChecked(p, "arith.divf", {a.value, divisor}, range);
}

/// What is left of a / n, for a whole a: brings large numbers down.
static bool makeFloatRemainder(ProgramBuilder &p) {
  auto a =
      p.pick([](const Known &k) { return k.isFloat() && k.range.isExact(); });
  if (!a)
    return false;
  double divisor = p.choices.between(2, 7);
  Known n = p.constant(a->type(), divisor);
  return addChecked(
      p, "arith.remf", {a->value, n.value},
      {std::min(a->range.bound, divisor), std::min(a->range.quantum, 0), 0});
}

/// Between two constants.
static bool makeClamp(ProgramBuilder &p) {
  Known a = floatOperand(p);
  double high = p.choices.between(1, 5);
  Known low = p.constant(a.type(), -high), top = p.constant(a.type(), high);
  Bounds range{std::min(a.range.bound, high), std::min(a.range.quantum, 0),
               a.range.error};
  Value cut =
      p.op("arith.maximumf", {a.value, low.value}, a.type())->getResult(0);
  return addChecked(p, "arith.minimumf", {cut, top.value}, range);
}

/// shoal.clamp between values: scalars or one for each element.
static bool makeClampOp(ProgramBuilder &p) {
  Known a = p.pickOr([](const Known &) { return true; },
                     [&] { return p.tensor(p.shape(0, 4), p.elementType()); });
  // Where a bound is the value for good, or below the other one, the gradient
  // is JAX's, which is no slope.
  bool isSlope = p.isDifferentiable && a.isFloat();
  bool isLowFree = isSlope && p.choices.chance(50);
  auto bound = [&](double far, bool isFree) {
    auto type = p.choices.chance(50) ? a.type() : p.tensor({}, a.element());
    return !isSlope ? p.pickOfType(type)
           : isFree ? p.input(type)
                    : p.constant(type, far);
  };
  Known low = bound(-4, isLowFree), high = bound(4, isSlope && !isLowFree);
  Bounds range = either(a.range, either(low.range, high.range));
  p.add(p.op("shoal.clamp", {low.value, a.value, high.value}, a.type())
            ->getResult(0),
        range);
  return true;
}

static bool makeNegation(ProgramBuilder &p) {
  Known a = floatOperand(p);
  return addChecked(p, "arith.negf", a.value, a.range);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static bool makeIntegerBinary(ProgramBuilder &p) {
  static constexpr const char *names[] = {
      "arith.addi",  "arith.subi",  "arith.muli", "arith.maxsi", "arith.minsi",
      "arith.maxui", "arith.minui", "arith.andi", "arith.ori",   "arith.xori"};
  Known a = integerOperand(p), b = p.pickOfType(a.type());
  return addChecked(p, p.choices.pick(names), {a.value, b.value},
                    anyInteger(a.element()));
}

static bool makeIntegerDivision(ProgramBuilder &p) {
  static constexpr const char *names[] = {
      "arith.divsi",      "arith.remsi",     "arith.divui",    "arith.remui",
      "arith.floordivsi", "arith.ceildivsi", "arith.ceildivui"};
  Known a = integerOperand(p), b = p.pickOfType(a.type());
  // An odd divisor is not zero; one below 0 and above -2 may overflow, so it
  // is made positive.
  Known one = p.constant(a.type(), 1), small = p.constant(a.type(), 63);
  Value masked =
      p.op("arith.andi", {b.value, small.value}, a.type())->getResult(0);
  Value odd = p.op("arith.ori", {masked, one.value}, a.type())->getResult(0);
  return addChecked(p, p.choices.pick(names), {a.value, odd},
                    anyInteger(a.element()));
}

static bool makeShift(ProgramBuilder &p) {
  static constexpr const char *names[] = {"arith.shli", "arith.shrsi",
                                          "arith.shrui"};
  Known a = integerOperand(p), b = p.pickOfType(a.type());
  Known low = p.constant(a.type(), 7);
  Value amount =
      p.op("arith.andi", {b.value, low.value}, a.type())->getResult(0);
  return addChecked(p, p.choices.pick(names), {a.value, amount},
                    anyInteger(a.element()));
}

static bool makeLogic(ProgramBuilder &p) {
  static constexpr const char *names[] = {"arith.andi", "arith.ori",
                                          "arith.xori"};
  auto a = p.pick([](const Known &k) { return k.element().isInteger(1); });
  if (!a)
    return false;
  Known b = p.pickOfType(a->type());
  return addChecked(p, p.choices.pick(names), {a->value, b.value},
                    anyInteger(a->element()));
}

//===----------------------------------------------------------------------===//
// Comparison and choice
//===----------------------------------------------------------------------===//

static bool makeComparison(ProgramBuilder &p) {
  // What rounding may change does not decide.
  auto a = p.pick([](const Known &k) { return k.range.isExact(); });
  if (!a)
    return false;
  Known b = p.pickOfType(a->type(), [](Bounds r) { return r.isExact(); });
  bool isFloat = a->isFloat();
  // All but always true and always false; of floats, the ordered ones.
  int64_t predicate = isFloat ? 1 + p.choices.below(6) : p.choices.below(10);
  Value result =
      p.op(isFloat ? "arith.cmpf" : "arith.cmpi", {a->value, b.value},
           a->type().clone(p.builder.getI1Type()),
           p.builder.getNamedAttr("predicate",
                                  p.builder.getI64IntegerAttr(predicate)))
          ->getResult(0);
  p.add(result, anyInteger(p.builder.getI1Type()));
  return true;
}

static bool makeSelect(ProgramBuilder &p) {
  Known condition = anyOperand(
      p, [](const Known &k) { return k.element().isInteger(1); },
      [&] { return p.builder.getI1Type(); });
  Known a = p.pickOfType(condition.type().clone(p.elementType()));
  Known b = p.pickOfType(a.type());
  Bounds range = either(a.range, b.range);
  p.add(p.op("arith.select", {condition.value, a.value, b.value}, a.type())
            ->getResult(0),
        range);
  return true;
}

/// All elements listed.
static bool makeConstant(ProgramBuilder &p) {
  auto type = p.tensor(p.shape(0, 2), p.choices.chance(40)
                                          ? p.builder.getI32Type()
                                          : Type(p.builder.getF32Type()));
  bool isFloat = isa<FloatType>(type.getElementType());
  SmallVector<Attribute> elements;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    int64_t value = p.choices.below(9);
    elements.push_back(isFloat
                           ? Attribute(p.builder.getF32FloatAttr(value - 4))
                           : Attribute(p.builder.getI32IntegerAttr(value - 4)));
  }
  Value made = p.op("arith.constant", {}, type,
                    p.builder.getNamedAttr(
                        "value", DenseElementsAttr::get(type, elements)))
                   ->getResult(0);
  p.add(made, {isFloat ? 4.0 : largestOf(type.getElementType()), 0, 0});
  return true;
}

void shoal::fuzz::addElementwiseGenerators(Generators &generators) {
  generators.add("float arithmetic", makeFloatBinary, 20);
  generators.add("arith.divf", makeDivision, 4);
  generators.add("arith.remf", makeFloatRemainder, 6);
  generators.add("clamp", makeClamp, 6);
  generators.add("shoal.clamp", makeClampOp, 5);
  generators.add("arith.negf", makeNegation, 3);
  generators.add("integer arithmetic", makeIntegerBinary, 8);
  generators.add("integer division", makeIntegerDivision, 3);
  generators.add("shift", makeShift, 3);
  generators.add("logic", makeLogic, 4);
  generators.add("comparison", makeComparison, 6);
  generators.add("arith.select", makeSelect, 6);
  generators.add("arith.constant", makeConstant, 4);
}
