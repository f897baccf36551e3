// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Generators.h"
#include "shoal/Dialect/Shoal/IR/ContractionOps.h"

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

/// Some letters stay, the others are summed over.
static std::string pickResult(ProgramBuilder &p, const Letters &letters) {
  std::string order = letters.all, result;
  p.choices.shuffle(order);
  int64_t elements = 1;
  for (char letter : order) {
    bool stays = p.choices.chance(60);
    // Of large programs most would be refused.
    if (p.isLarge && elements * letters.sizeOf(letter) > p.maxElements)
      continue;
    if (!stays)
      continue;
    result += letter;
    elements *= std::max<int64_t>(letters.sizeOf(letter), 1);
  }
  return result;
}

/// One product of matrices, or some, of sizes that a library cuts and packs;
/// operands and result are stored either way.
static bool makeLargeProduct(ProgramBuilder &p) {
  static constexpr int64_t sides[] = {256, 64, 1, 300, 512, 700, 1024, 2048};
  static constexpr int64_t depths[] = {64, 16, 100, 256, 512, 1024};
  int64_t m = p.choices.pick(sides), n = p.choices.pick(sides);
  int64_t k = p.choices.pick(depths);
  int64_t batch = p.choices.chance(25) ? 1 + p.choices.below(5) : 1;
  auto isTooLarge = [&] {
    int64_t most = std::max({m * n, m * k, n * k});
    return batch * most > p.maxElements || batch * m * n * k > p.maxPoints;
  };
  while (isTooLarge()) {
    int64_t *longest =
        std::max({&m, &n, &k}, [](auto a, auto b) { return *a < *b; });
    *longest = (*longest + 1) / 2;
  }
  std::string left = "bik", right = "bkj", result = "bij";
  for (std::string *term : {&left, &right, &result})
    if (p.choices.chance(40))
      std::swap((*term)[1], (*term)[2]);
  auto shapeOf = [&](StringRef term) {
    SmallVector<int64_t> shape;
    for (char letter : term)
      shape.push_back(letter == 'b'   ? batch
                      : letter == 'i' ? m
                      : letter == 'j' ? n
                                      : k);
    return shape;
  };
  Type element = p.floatType();
  Known a = p.pickOfType(p.tensor(shapeOf(left), element));
  Known b = p.pickOfType(p.tensor(shapeOf(right), element));
  Bounds range = sumOf(k, product(a.range, b.range, element), element);
  if (!isUsable(range, element))
    return false;
  Value made = EinsumOp::create(
      p.builder, p.loc, p.tensor(shapeOf(result), element),
      left + "," + right + "->" + result, ValueRange{a.value, b.value});
  p.add(made, range);
  return true;
}

static bool makeEinsum(ProgramBuilder &p) {
  if (p.isLarge && p.choices.chance(60))
    return makeLargeProduct(p);
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
      if (!p.fits(shape))
        return false;
      second = p.input(p.tensor(shape, element));
    }
    operands.push_back(second.value);
    spec += "," + term;
    range = product(range, second.range, productElement);
  }
  std::string result = pickResult(p, letters);
  SmallVector<int64_t> shape;
  int64_t terms = 1, points = 1;
  for (char letter : letters.all) {
    points *= letters.sizeOf(letter);
    if (!StringRef(result).contains(letter))
      terms *= letters.sizeOf(letter);
  }
  for (char letter : result)
    shape.push_back(letters.sizeOf(letter));
  if (!p.fits(shape) || points > p.maxPoints)
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

void shoal::fuzz::addContractionGenerators(Generators &generators) {
  generators.add("shoal.einsum", makeEinsum, 40);
}
