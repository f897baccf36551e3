// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Generators.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

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

void shoal::fuzz::addReductionGenerators(Generators &generators) {
  generators.add("shoal.reduce", makeReduce, 20);
  generators.add("shoal.cumulative", makeCumulative, 10);
}
