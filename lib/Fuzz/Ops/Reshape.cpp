// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Generators.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

/// The prime factors, cut anew into dimensions.
static SmallVector<int64_t> otherShape(ProgramBuilder &p,
                                       ArrayRef<int64_t> shape) {
  if (llvm::is_contained(shape, 0)) // of no elements
    return {0, p.size()};
  SmallVector<int64_t> primes;
  for (int64_t size : shape)
    for (int64_t prime = 2; size > 1;) {
      if (size % prime == 0) {
        primes.push_back(prime);
        size /= prime;
      } else {
        ++prime;
      }
    }
  if (p.choices.chance(20))
    p.choices.shuffle(primes);
  SmallVector<int64_t> result;
  for (int64_t prime : primes) {
    if (result.empty() || p.choices.chance(50))
      result.push_back(prime);
    else
      result.back() *= prime;
    if (p.choices.chance(5))
      result.push_back(1);
  }
  return result;
}

static bool makeReshape(ProgramBuilder &p) {
  Known a = p.anyValue(0);
  SmallVector<int64_t> shape = otherShape(p, a.shape());
  if (!p.fits(shape))
    return false;
  p.add(ReshapeOp::create(p.builder, p.loc, p.tensor(shape, a.element()),
                          a.value),
        a.range);
  return true;
}

void shoal::fuzz::addReshapeGenerators(Generators &generators) {
  generators.add("shoal.reshape", makeReshape, 20);
}
