// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Einsums and sums of one-hot masks: dispatch, combine, their gradients, and
// whatever else letters allow.

#include "Generators.h"
#include "OneHots.h"
#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

/// Some of the letters, in any order.
static std::string someOf(ProgramBuilder &p, std::string letters,
                          unsigned percent) {
  p.choices.shuffle(letters);
  std::string some;
  for (char letter : letters)
    if (p.choices.chance(percent))
      some += letter;
  return some;
}

/// What the mask is multiplied by: rows, or a mask again.
static std::optional<Lettered> otherOperand(ProgramBuilder &p, OneHots &hots,
                                            const Lettered &mask) {
  if (p.choices.chance(20))
    return hots.mask();
  std::string letters = someOf(p, mask.letters, 60);
  if (p.choices.chance(80))
    letters += p.choices.chance(80) ? "m" : "mn";
  auto type = hots.type(letters, hots.getElement());
  if (letters.empty() || !p.fits(type.getShape()))
    return std::nullopt;
  return Lettered{p.pickOfType(type), letters};
}

static bool addProduct(ProgramBuilder &p, OneHots &hots, const Lettered &a,
                       const Lettered &b) {
  std::string all = a.letters;
  for (char letter : b.letters)
    if (!StringRef(all).contains(letter))
      all += letter;
  std::string result = someOf(p, all, 55);
  int64_t points = 1, terms = 1;
  for (char letter : all) {
    points *= hots.sizeOf(letter);
    if (!StringRef(result).contains(letter))
      terms *= hots.sizeOf(letter);
  }
  auto type = hots.type(result, hots.getElement());
  Type element = hots.getElement();
  Bounds range =
      sumOf(terms, product(a.known.range, b.known.range, element), element);
  if (!p.fits(type.getShape()) || points > p.maxPoints ||
      !isUsable(range, element))
    return false;
  p.add(EinsumOp::create(p.builder, p.loc, type,
                         a.letters + "," + b.letters + "->" + result,
                         ValueRange{a.known.value, b.known.value}),
        range);
  return true;
}

static bool addReduction(ProgramBuilder &p, OneHots &hots,
                         const Lettered &mask) {
  SmallVector<int64_t> dims;
  std::string result;
  int64_t terms = 1;
  for (auto [dim, letter] : llvm::enumerate(mask.letters)) {
    if (p.choices.chance(50)) {
      result += letter;
      continue;
    }
    dims.push_back(dim);
    terms *= hots.sizeOf(letter);
  }
  Type element = hots.getElement();
  auto kind = p.choices.chance(30) ? ReduceKind::Max : ReduceKind::Sum;
  auto range = rangeOfReduction(kind, mask.known.range, terms, element);
  if (!range || !isUsable(*range, element))
    return false;
  p.add(ReduceOp::create(p.builder, p.loc, hots.type(result, element), kind,
                         mask.known.value, dims),
        *range);
  return true;
}

static bool makeOneHotEinsum(ProgramBuilder &p) {
  OneHots hots(p);
  std::optional<Lettered> mask = hots.mask();
  if (!mask)
    return false;
  bool isUsed = false;
  for (unsigned uses = 1 + p.choices.below(3); uses > 0; --uses) {
    if (p.choices.chance(20)) {
      isUsed |= addReduction(p, hots, *mask);
      continue;
    }
    std::optional<Lettered> other = otherOperand(p, hots, *mask);
    if (!other)
      continue;
    bool isFirst = !p.choices.chance(30);
    isUsed |=
        addProduct(p, hots, isFirst ? *mask : *other, isFirst ? *other : *mask);
  }
  // Now and then others see it, or the program returns it.
  if (p.choices.chance(15))
    p.add(mask->known.value, mask->known.range);
  return isUsed;
}

void shoal::fuzz::addNNOneHotGenerators(Generators &generators) {
  generators.add("one-hot einsum", makeOneHotEinsum, 8);
}
