// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Einsums and reductions.

#include "shoal/Fuzz/Generators.h"
#include <cmath>

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

namespace {

/// Letters as they come to be, each with its size.
struct Letters {
  std::string all;
  SmallVector<int64_t> sizes;

  char add(int64_t size) {
    all += "abcdefghijklmnopqrstuvwxyz"[all.size()];
    sizes.push_back(size);
    return all.back();
  }
  int64_t sizeOf(char letter) const { return sizes[all.find(letter)]; }
};

} // namespace

/// A letter a dimension; now and then one of an earlier dimension of the same
/// size, a diagonal.
static std::string letterOperand(ProgramBuilder &p, ArrayRef<int64_t> shape,
                                 Letters &letters) {
  std::string term;
  for (int64_t size : shape) {
    auto same =
        llvm::find_if(term, [&](char c) { return letters.sizeOf(c) == size; });
    bool repeats = same != term.end() && p.choices.chance(5);
    term += repeats ? *same : letters.add(size);
  }
  return term;
}

/// Letters of the first operand and new ones, of a shape made for them.
static SmallVector<int64_t> secondShape(ProgramBuilder &p, Letters &letters,
                                        std::string &term) {
  std::string shared = letters.all;
  p.choices.shuffle(shared);
  SmallVector<int64_t> shape;
  for (char letter : shared)
    if (p.choices.chance(65))
      term += letter;
  for (unsigned i = p.choices.below(3); i > 0; --i)
    term += letters.add(p.size());
  p.choices.shuffle(term);
  for (char letter : term)
    shape.push_back(letters.sizeOf(letter));
  return shape;
}

/// Letters of a value that is there, those of its sizes being shared.
static std::string letterSecond(ProgramBuilder &p, ArrayRef<int64_t> shape,
                                Letters &letters) {
  std::string term, unused = letters.all;
  for (int64_t size : shape) {
    size_t place = 0;
    while (place < unused.size() && letters.sizeOf(unused[place]) != size)
      ++place;
    if (place < unused.size() && p.choices.chance(75)) {
      term += unused[place];
      unused.erase(place, 1);
    } else {
      term += letters.add(size);
    }
  }
  return term;
}

static bool makeEinsum(ProgramBuilder &p) {
  auto first =
      p.pickOr([](const Known &k) { return !k.element().isInteger(1); },
               [&] { return p.tensor(p.shape(1, 3), p.floatType()); });
  Letters letters;
  std::string spec = letterOperand(p, first.shape(), letters);
  SmallVector<Value> operands{first.value};
  Type element = first.element();
  // Products of f8 are exact in any result's type that they may have.
  Type productElement =
      isFloat8(element) ? Type(p.builder.getBF16Type()) : element;
  Bounds range = first.range;
  if (p.choices.chance(80)) {
    std::string term;
    auto other = p.pick([&](const Known &k) {
      bool areFloat8 = isFloat8(element) && isFloat8(k.element());
      return (k.element() == element || areFloat8) && k.type().getRank() > 0;
    });
    Known second = first;
    if (other && p.choices.chance(40)) {
      second = *other;
      term = letterSecond(p, other->shape(), letters);
    } else {
      SmallVector<int64_t> shape = secondShape(p, letters, term);
      if (!ProgramBuilder::fits(shape))
        return false;
      second = p.input(p.tensor(shape, element));
    }
    operands.push_back(second.value);
    spec += "," + term;
    range = product(range, second.range, productElement);
  }
  // Some letters stay, the others are summed over.
  std::string result;
  SmallVector<int64_t> shape;
  int64_t terms = 1, points = 1;
  std::string order = letters.all;
  p.choices.shuffle(order);
  for (char letter : order) {
    points *= letters.sizeOf(letter);
    if (p.choices.chance(60))
      result += letter, shape.push_back(letters.sizeOf(letter));
    else
      terms *= letters.sizeOf(letter);
  }
  if (!ProgramBuilder::fits(shape) || points > 200000)
    return false;
  Type resultElement = element;
  if (isFloat8(element))
    resultElement = p.choices.pick(std::array{Type(p.builder.getF32Type()),
                                              Type(p.builder.getBF16Type()),
                                              Type(p.builder.getF16Type())});
  else if ((element.isBF16() || element.isF16()) && p.choices.chance(40))
    resultElement = p.builder.getF32Type();
  // Sums of bf16 may be rounded to bf16 between devices.
  range = sumOf(terms, range, productElement);
  if (!isUsable(range, productElement))
    return false;
  Value made =
      EinsumOp::create(p.builder, p.loc, p.tensor(shape, resultElement),
                       spec + "->" + result, operands);
  p.add(made, range);
  return true;
}

static std::optional<Bounds> rangeOfReduction(ReduceKind kind, Bounds range,
                                              int64_t n, Type element) {
  switch (kind) {
  case ReduceKind::Max:
  case ReduceKind::Min:
    // An infinity is the largest of none.
    if (n == 0 && isa<FloatType>(element))
      return std::nullopt;
    return n == 0 ? anyInteger(element) : range;
  case ReduceKind::Sum:
    return sumOf(n, range, element);
  case ReduceKind::Prod:
    // Products in any order: exact while the largest one is.
    range.bound = std::pow(std::max(range.bound, 1.0), double(n));
    if (!range.isWhole() && isa<FloatType>(element))
      return std::nullopt;
    return rounded(range, element);
  default:
    return n == 0 ? anyInteger(element) : range;
  }
}

/// Sum, product and the like of this type.
static ReduceKind pickKind(ProgramBuilder &p, Type element) {
  using K = ReduceKind;
  if (element.isInteger(1))
    return p.choices.pick(std::array{K::And, K::Or});
  if (isFloat8(element))
    return p.choices.pick(std::array{K::Max, K::Min});
  if (isa<FloatType>(element))
    return p.choices.pick(std::array{K::Sum, K::Max, K::Min, K::Sum, K::Prod});
  return p.choices.pick(
      std::array{K::Sum, K::Max, K::Min, K::Prod, K::And, K::Or});
}

static bool makeReduce(ProgramBuilder &p) {
  Known a = p.pickOr([](const Known &k) { return k.type().getRank() > 0; },
                     [&] { return p.tensor(p.shape(1, 4), p.elementType()); });
  ReduceKind kind = pickKind(p, a.element());
  SmallVector<int64_t> dims, shape;
  int64_t n = 1;
  for (auto [dim, size] : llvm::enumerate(a.shape())) {
    if (p.choices.chance(50)) {
      dims.push_back(dim);
      n *= size;
    } else {
      shape.push_back(size);
    }
  }
  auto range = rangeOfReduction(kind, a.range, n, a.element());
  if (!range || !isUsable(*range, a.element()))
    return false;
  p.add(ReduceOp::create(p.builder, p.loc, p.tensor(shape, a.element()), kind,
                         a.value, dims),
        *range);
  return true;
}

static bool makeCumulative(ProgramBuilder &p) {
  Known a = p.pickOr([](const Known &k) { return k.type().getRank() > 0; },
                     [&] { return p.tensor(p.shape(1, 3), p.elementType()); });
  ReduceKind kind = pickKind(p, a.element());
  int64_t dim = p.choices.below(a.type().getRank());
  auto range = rangeOfReduction(kind, a.range, a.shape()[dim], a.element());
  if (!range || !isUsable(*range, a.element()))
    return false;
  bool exclusive = p.choices.chance(40);
  // The identity comes first: an infinity or the smallest integer.
  if (exclusive && a.isFloat() &&
      (kind == ReduceKind::Max || kind == ReduceKind::Min))
    return false;
  if (exclusive)
    range->bound =
        a.isFloat() ? std::max(range->bound, 1.0) : largestOf(a.element());
  p.add(CumulativeOp::create(p.builder, p.loc, a.type(), kind, a.value, dim,
                             exclusive, p.choices.chance(40)),
        *range);
  return true;
}

void shoal::fuzz::addContractionGenerators(Generators &generators) {
  generators.add("shoal.einsum", makeEinsum, 40);
  generators.add("shoal.reduce", makeReduce, 20);
  generators.add("shoal.cumulative", makeCumulative, 10);
}
