// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Generators.h"
#include "shoal/Dialect/Shoal/IR/RandomOps.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

static bool makeRandom(ProgramBuilder &p) {
  Known key = p.pickOfType(p.tensor(2, p.builder.getI32Type()));
  auto type = p.tensor(p.shape(0, 3), p.floatType());
  bool isNormal = p.choices.chance(30);
  Bounds range = isNormal ? smooth({1, 0, 0}, 9, 1, type.getElementType())
                          : Bounds{1, -precisionOf(type.getElementType()), 0};
  p.add(RandomOp::create(
            p.builder, p.loc, type,
            isNormal ? Distribution::Normal : Distribution::Uniform, key.value),
        range);
  return true;
}

void shoal::fuzz::addRandomGenerators(Generators &generators) {
  generators.add("shoal.random", makeRandom, 3);
}
