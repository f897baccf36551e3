// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Products/GemmPieces.h"
#include "shoal/Products/Loops.h"

namespace shoal::products {

/// No side of a piece becomes shorter by a cut: pieces of half the size took 2
/// to 4 % longer, of this one 1 %. [measured, f32 on one core with AVX-512]
static constexpr int64_t leastSide = 256;
/// Sides are multiples of it, as those of a library's inner kernels are.
static constexpr int64_t sideStep = 64;
/// So many pieces are enough for few threads, unless pieces are long: those
/// that take more than 20 ms are cut for many.
static constexpr int64_t enoughPieces = 16;
/// Multiplications with an addition of 0.3 and 20 ms of a core; where one side
/// is 1, elements, which come from memory.
static constexpr double leastTerms = 1 << 24, manyTerms = 1 << 30;
static constexpr double leastElements = 1 << 20, manyElements = 1 << 25;

static int64_t cutInHalf(int64_t side) {
  return ((side + 1) / 2 + sideStep - 1) / sideStep * sideStep;
}

GemmPieces cutProduct(const calls::GemmPlan &plan) {
  GemmPieces pieces{plan.m, plan.n, 1, 1};
  bool isVector = plan.m == 1 || plan.n == 1;
  double least = isVector ? leastElements : leastTerms;
  double many = isVector ? manyElements : manyTerms;
  auto units = static_cast<double>(iterations(plan.outer)) *
               static_cast<double>(plan.packing == decltype(plan.packing)()
                                       ? iterations(plan.batch)
                                       : 1); // which come one after another
  while (true) {
    int64_t &side =
        pieces.rows >= pieces.columns ? pieces.rows : pieces.columns;
    double terms = static_cast<double>(pieces.rows) *
                   static_cast<double>(pieces.columns) *
                   static_cast<double>(plan.k);
    bool isEnough =
        static_cast<double>(pieces.count()) * units >= enoughPieces &&
        terms <= many;
    if (isEnough || side < 2 * leastSide || terms < 2 * least)
      return pieces;
    side = cutInHalf(side);
    pieces.alongRows = (plan.m + pieces.rows - 1) / pieces.rows;
    pieces.alongColumns = (plan.n + pieces.columns - 1) / pieces.columns;
  }
}

} // namespace shoal::products
