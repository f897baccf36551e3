// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Selection along a dimension.

#include "shoal/Fuzz/Generators.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

static bool makeTopK(ProgramBuilder &p) {
  Known a = p.pickOr(
      [](const Known &k) {
        return k.type().getRank() > 0 && k.shape().back() > 0 &&
               k.range.isExact() && !k.element().isInteger(1);
      },
      [&] { return p.tensor(p.shape(1, 3), p.floatType()); });
  SmallVector<int64_t> shape(a.shape());
  if (shape.back() == 0)
    return false;
  shape.back() = 1 + p.choices.below(shape.back());
  auto op = TopKOp::create(p.builder, p.loc, p.tensor(shape, a.element()),
                           p.tensor(shape, p.builder.getI32Type()), a.value,
                           shape.back());
  p.add(op.getValues(), a.range);
  p.add(op.getIndices(), {double(a.shape().back()), 0, 0});
  return true;
}

void shoal::fuzz::addScanGenerators(Generators &generators) {
  generators.add("shoal.top_k", makeTopK, 8);
}
