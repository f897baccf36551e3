// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Fourier transforms along a dimension.

#include "Generators.h"
#include "shoal/Dialect/Shoal/IR/FourierOps.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

/// A tensor of f32 or f64 with lines along some dimension.
static Known pickLines(ProgramBuilder &p) {
  return p.pickOr(
      [](const Known &k) {
        return k.type().getRank() > 0 &&
               (k.element().isF32() || k.element().isF64());
      },
      [&] {
        return p.tensor(p.shape(1, 3), p.choices.chance(75)
                                           ? p.builder.getF32Type()
                                           : p.builder.getF64Type());
      });
}

/// Of sums of `length` terms of both halves, and how far two ways of adding
/// them may differ.
static Bounds rangeOfSums(int64_t length, Bounds x, Type element) {
  Bounds range = sumOf(2 * length, x, element);
  // Factors that are no integers round each term.
  range.error = std::max(range.error, range.bound * std::ldexp(1.0, -20));
  if (element.isF64())
    range.error = std::max(x.error * 2 * double(length),
                           range.bound * std::ldexp(1.0, -45));
  return range;
}

static bool makeFft(ProgramBuilder &p) {
  Known x = pickLines(p);
  int64_t dim = p.choices.below(x.type().getRank());
  int64_t given = x.shape()[dim];
  // The interpreter adds up each element by itself.
  constexpr int64_t mostTerms = int64_t(1) << 26;
  if (given == 0 || given * x.type().getNumElements() > mostTerms)
    return false;
  SmallVector<int64_t> shape(x.shape());
  SmallVector<Value> inputs{x.value};
  Bounds range = x.range;
  bool isOfReal = p.choices.chance(30), isToReal = false, inverse = false;
  int64_t length = given;
  if (isOfReal) {
    shape[dim] = given / 2 + 1;
  } else {
    Known y = p.pickOfType(x.type());
    inputs.push_back(y.value);
    range = either(x.range, y.range);
    // A line of one or of two numbers less than twice as long as what is given.
    isToReal = p.choices.chance(40);
    inverse = isToReal || p.choices.chance(40);
    if (isToReal)
      length = shape[dim] =
          given == 1 ? 1 : 2 * (given - 1) + p.choices.below(2);
  }
  Bounds sums = rangeOfSums(length, range, x.element());
  if (!isUsable(sums, x.element()))
    return false;
  SmallVector<Type> types(isToReal ? 1 : 2, p.tensor(shape, x.element()));
  auto op = FftOp::create(p.builder, p.loc, types, inputs, dim, inverse);
  for (Value result : op.getResults())
    p.add(result, sums);
  return true;
}

void shoal::fuzz::addFourierGenerators(Generators &generators) {
  generators.add("shoal.fft", makeFft, 8);
}
