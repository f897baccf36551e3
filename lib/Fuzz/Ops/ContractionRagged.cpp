// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Einsums over groups of rows.

#include "Generators.h"
#include "shoal/Dialect/Shoal/IR/ContractionOps.h"
#include <map>

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

/// Rows T, groups E, batches of groups G, summed M, columns H.
static constexpr StringLiteral kSpecs[] = {
    "TM,EMH,E->TH",    "TM,TH,E->EMH", "TM,EMH,E->HT", "GTM,EMH,GE->GTH",
    "GTM,GTH,GE->EMH", "TM,T,E->TM",   "TM,MH,E->ETH", "TM,TH,E->MH",
};

/// Bounds of groups, some outside of the rows there are.
static Known pickCounts(ProgramBuilder &p, ArrayRef<int64_t> shape) {
  Type element =
      p.choices.chance(50) ? p.builder.getI64Type() : p.builder.getI32Type();
  return p.pickOfType(p.tensor(shape, element));
}

/// By sizes, which are not negative.
static Value addDot(ProgramBuilder &p, StringRef spec, Known lhs, Known rhs,
                    Known counts, RankedTensorType type) {
  Known mask = p.constant(counts.type(), 7);
  Value sizes = p.op("arith.andi", {counts.value, mask.value}, counts.type())
                    ->getResult(0);
  return RaggedDotOp::create(p.builder, p.loc, type, spec, "T", lhs.value,
                             rhs.value, sizes);
}

static bool makeRagged(ProgramBuilder &p) {
  StringRef text = p.choices.pick(llvm::ArrayRef(kSpecs));
  EinsumSpec spec = EinsumSpec::of(text);
  Known lhs = p.pickOr(
      [&](const Known &k) {
        return k.type().getRank() == int64_t(spec.inputs[0].size()) &&
               !k.element().isInteger(1) && k.canBeSummed();
      },
      [&] {
        unsigned rank = spec.inputs[0].size();
        return p.tensor(p.shape(rank, rank), p.floatType());
      });
  std::map<char, int64_t> sizes;
  for (auto [letter, size] : llvm::zip_equal(spec.inputs[0], lhs.shape()))
    sizes[letter] = size;
  for (char letter : {'E', 'H'})
    sizes.try_emplace(letter, 1 + p.choices.below(6));
  auto shapeOf = [&](ArrayRef<char> term) {
    return llvm::map_to_vector(term, [&](char c) { return sizes.at(c); });
  };
  int64_t points = 1;
  for (auto [letter, size] : sizes)
    points *= size;
  SmallVector<int64_t> shape = shapeOf(spec.result);
  if (!p.fits(shape) || !p.fits(shapeOf(spec.inputs[1])) ||
      points > p.maxPoints)
    return false;
  Known rhs = p.pickOfType(p.tensor(shapeOf(spec.inputs[1]), lhs.element()));
  int64_t terms = 1;
  for (auto [letter, size] : sizes)
    if (!llvm::is_contained(spec.result, letter))
      terms *= size;
  Bounds range =
      sumOf(terms, product(lhs.range, rhs.range, lhs.element()), lhs.element());
  if (!isUsable(range, lhs.element()))
    return false;
  Known begins = pickCounts(p, shapeOf(spec.inputs[2]));
  if (p.choices.chance(40)) {
    p.add(addDot(p, text, lhs, rhs, begins, p.tensor(shape, lhs.element())),
          range);
    return true;
  }
  Known ends = p.pickOfType(begins.type());
  p.add(RaggedEinsumOp::create(p.builder, p.loc, p.tensor(shape, lhs.element()),
                               text, "T", lhs.value, rhs.value, begins.value,
                               ends.value),
        range);
  return true;
}

void shoal::fuzz::addContractionRaggedGenerators(Generators &generators) {
  generators.add("shoal.ragged_einsum", makeRagged, 12);
}
