// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// From one element type to another.

#include "shoal/Fuzz/Generators.h"

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
  Known a = *p.pickFloat();
  Type to = p.floatType();
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

void shoal::fuzz::addCastGenerators(Generators &generators) {
  generators.add("float cast", makeFloatCast, 4);
  generators.add("integer cast", makeIntegerCast, 3);
  generators.add("integer to float", makeToFloat, 5);
  generators.add("float to integer", makeToInteger, 5);
}
