// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// From one element type to another.

#include "Generators.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

static bool cast(ProgramBuilder &p, StringRef name, const Known &a, Type to,
                 Bounds range) {
  if (!isUsable(range, to))
    return false;
  p.add(p.op(name, a.value, a.type().clone(to))->getResult(0), range);
  return true;
}

static bool makeFloatCast(ProgramBuilder &p) {
  auto a = p.pickOr([](const Known &k) { return k.isFloat(); },
                    [&] { return p.tensor(p.shape(0, 3), p.floatType()); });
  Type to = p.elementType();
  if (!isa<FloatType>(to))
    to = p.floatType();
  unsigned from = a.element().getIntOrFloatBitWidth();
  unsigned width = to.getIntOrFloatBitWidth();
  if (from == width)
    return false;
  // Rounds an exact value once, everywhere alike; others where they differ.
  Bounds range =
      a.range.isExact() ? roundedAlike(a.range, to) : rounded(a.range, to);
  return cast(p, width > from ? "arith.extf" : "arith.truncf", a, to, range);
}

static bool makeIntegerCast(ProgramBuilder &p) {
  auto a = p.pick([](const Known &k) { return !k.isFloat(); });
  Type to = p.integerType();
  if (!a || a->element() == to)
    return false;
  bool widens =
      to.getIntOrFloatBitWidth() > a->element().getIntOrFloatBitWidth();
  StringRef name = !widens                ? "arith.trunci"
                   : p.choices.chance(50) ? "arith.extui"
                                          : "arith.extsi";
  return cast(p, name, *a, to, anyInteger(to));
}

static bool makeToFloat(ProgramBuilder &p) {
  auto a = p.pick([](const Known &k) { return !k.isFloat(); });
  if (!a)
    return false;
  Type to = p.floatType();
  bool isUnsigned = p.choices.chance(40);
  Bounds range = a->range;
  if (isUnsigned && !a->element().isInteger(1))
    range.bound = 2 * largestOf(a->element());
  return cast(p, isUnsigned ? "arith.uitofp" : "arith.sitofp", *a, to,
              roundedAlike(range, to));
}

static bool makeToInteger(ProgramBuilder &p) {
  Type to = p.integerType();
  auto a = p.pick([&](const Known &k) {
    return k.isFloat() && k.range.isExact() && k.range.bound < largestOf(to);
  });
  return a && cast(p, "arith.fptosi", *a, to, a->range);
}

//===----------------------------------------------------------------------===//
// bitcast_convert
//===----------------------------------------------------------------------===//

static Value bitcast(ProgramBuilder &p, Value value, RankedTensorType type) {
  return p.op("shoal.bitcast_convert", value, type)->getResult(0);
}

static Value masked(ProgramBuilder &p, StringRef name, Value value,
                    const APInt &bits) {
  auto type = mlir::cast<RankedTensorType>(value.getType());
  Attribute attr = IntegerAttr::get(type.getElementType(), bits);
  Value mask =
      p.op("arith.constant", {}, type,
           p.builder.getNamedAttr("value", SplatElementsAttr::get(type, attr)))
          ->getResult(0);
  return p.op(name, {value, mask}, type)->getResult(0);
}

/// The bits of a float. Zeros have one sign: sums in another order may end
/// with the other one.
static bool makeBitsOfFloat(ProgramBuilder &p) {
  auto a =
      p.pick([](const Known &k) { return k.isFloat() && k.range.isExact(); });
  if (!a)
    return false;
  Known zero = p.constant(a->type(), 0);
  Value positive =
      p.op("arith.addf", {a->value, zero.value}, a->type())->getResult(0);
  unsigned width = a->element().getIntOrFloatBitWidth();
  SmallVector<int64_t> shape(a->shape());
  if (width > 8 && p.choices.chance(40)) {
    shape.push_back(p.choices.chance(50) || width == 16 ? width / 8 : 2);
    width /= shape.back();
  }
  if (!p.fits(shape))
    return false;
  Type to = p.builder.getIntegerType(width);
  p.add(bitcast(p, positive, p.tensor(shape, to)), anyInteger(to));
  return true;
}

/// A float of any sign and significand, from 1 to 2 in magnitude.
static bool makeFloatOfBits(ProgramBuilder &p) {
  auto to = mlir::cast<FloatType>(p.floatType());
  unsigned width = to.getWidth(), fraction = precisionOf(to) - 1;
  Type element = p.builder.getIntegerType(width);
  Known a = p.pickOr([&](const Known &k) { return k.element() == element; },
                     [&] { return p.tensor(p.shape(0, 4), element); });
  APInt keep = APInt::getLowBitsSet(width, fraction);
  keep.setSignBit();
  Value bits = masked(p, "arith.andi", a.value, keep);
  bits = masked(p, "arith.ori", bits,
                APFloat(to.getFloatSemantics(), 1).bitcastToAPInt());
  p.add(bitcast(p, bits, p.tensor(a.shape(), to)), {2, -int(fraction), 0});
  return true;
}

/// Between integers: narrower ones have a minor dimension more.
static bool makeBitsOfInteger(ProgramBuilder &p) {
  Type to = p.integerType(), from = p.integerType();
  int64_t width = from.getIntOrFloatBitWidth(),
          other = to.getIntOrFloatBitWidth();
  int64_t ratio = other / width;
  Known a = p.pickOr(
      [&](const Known &k) {
        return k.element() == from &&
               (ratio < 2 ||
                (k.type().getRank() > 0 && k.shape().back() == ratio));
      },
      [&] {
        SmallVector<int64_t> shape = p.shape(0, 3);
        if (ratio > 1)
          shape.push_back(ratio);
        return p.tensor(shape, from);
      });
  SmallVector<int64_t> shape(a.shape());
  if (ratio > 1)
    shape.pop_back();
  else if (width > other)
    shape.push_back(width / other);
  if (!p.fits(shape))
    return false;
  p.add(bitcast(p, a.value, p.tensor(shape, to)), anyInteger(to));
  return true;
}

void shoal::fuzz::addElementwiseCastsGenerators(Generators &generators) {
  generators.add("float cast", makeFloatCast, 4);
  generators.add("integer cast", makeIntegerCast, 3);
  generators.add("integer to float", makeToFloat, 5);
  generators.add("float to integer", makeToInteger, 5);
  generators.add("bits of a float", makeBitsOfFloat, 3);
  generators.add("float of bits", makeFloatOfBits, 3);
  generators.add("bits of an integer", makeBitsOfInteger, 4);
}
