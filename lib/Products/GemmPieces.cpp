// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Products/GemmPieces.h"
#include "shoal/Products/GemmPlan.h"
#include "shoal/Products/Loops.h"
#include "shoal/Support/Threshold.h"

namespace shoal::products {

/// No side of a piece becomes shorter by a cut: pieces of half the size took 2
/// to 4 % longer, of this one 1 %. [measured, f32 on one core with AVX-512]
static constexpr int64_t leastSide = 256;
/// Where there are fewer pieces than this, half of the least side and an eighth
/// of the least terms will do: a core that has nothing to do costs more.
static constexpr int64_t fewPieces = 4;
/// Sides are multiples of it, as those of a library's inner kernels are.
static constexpr int64_t sideStep = 64;
/// So many pieces are enough for few threads, unless pieces are long: those
/// that take more than 20 ms are cut for many.
static constexpr int64_t enoughPieces = 16;
/// Multiplications with an addition of 0.3 and 20 ms of a core; where one side
/// is 1, elements, which come from memory.
static constexpr double leastTerms = 1 << 24, manyTerms = 1 << 30;
static constexpr double leastElements = 1 << 20, manyElements = 1 << 25;

static const support::Threshold
    longSide("longer side of a product in many pieces", 2 * leastSide),
    fewLongSide("longer side of a product in pieces", leastSide),
    manyPieceTerms("terms of a product's piece in many", 2 * leastTerms),
    fewPieceTerms("terms of a product's piece", 2 * leastTerms / 8),
    vectorPieceTerms("elements of a matrix by a vector in many pieces",
                     2 * leastElements),
    fewVectorPieceTerms("elements of a matrix by a vector in pieces",
                        2 * leastElements / 8),
    partTerms("products of a part of a product's terms", leastTerms / 8);

/// Whether a piece of so many terms may be cut.
static bool hasTerms(double terms, bool isVector, bool areFew) {
  const support::Threshold &least =
      isVector ? (areFew ? fewVectorPieceTerms : vectorPieceTerms)
               : (areFew ? fewPieceTerms : manyPieceTerms);
  return least.isReachedBy(terms);
}

static int64_t cutInHalf(int64_t side) {
  return ((side + 1) / 2 + sideStep - 1) / sideStep * sideStep;
}

/// Products that threads can share as they are.
static int64_t unitsOf(const calls::GemmPlan &plan) {
  bool packs = plan.packing != decltype(plan.packing)();
  return iterations(plan.outer) *
         (packs ? 1 : iterations(plan.batch)); // which come one after another
}

GemmPieces cutProduct(const calls::GemmPlan &plan) {
  GemmPieces pieces{plan.m, plan.n, 1, 1};
  bool isVector = plan.m == 1 || plan.n == 1;
  double many = isVector ? manyElements : manyTerms;
  auto units = static_cast<double>(unitsOf(plan));
  bool byRows = StoredMatrix(plan.m, plan.n, plan.c).rowMajor;
  bool leavesGaps = plan.library == calls::ProductLibrary::OneDNN;
  if (leavesGaps &&
      byRows != (byRows ? StoredMatrix(plan.m, plan.k, plan.a).rowMajor
                        : StoredMatrix(plan.k, plan.n, plan.b).rowMajor))
    return pieces;
  while (true) {
    bool cutsRows = leavesGaps ? byRows : pieces.rows >= pieces.columns;
    int64_t &side = cutsRows ? pieces.rows : pieces.columns;
    double terms = static_cast<double>(pieces.rows) *
                   static_cast<double>(pieces.columns) *
                   static_cast<double>(plan.k);
    double count = static_cast<double>(pieces.count()) * units;
    bool isEnough = count >= enoughPieces && terms <= many;
    bool areFew = count < fewPieces;
    if (isEnough || !(areFew ? fewLongSide : longSide).isReachedBy(side) ||
        !hasTerms(terms, isVector, areFew))
      return pieces;
    side = cutInHalf(side);
    pieces.alongRows = (plan.m + pieces.rows - 1) / pieces.rows;
    pieces.alongColumns = (plan.n + pieces.columns - 1) / pieces.columns;
  }
}

/// Parts are of multiples of so many terms, as a library's inner kernels take
/// them, and of several such.
static constexpr int64_t termStep = 16, leastPart = 4 * termStep;

TermParts cutTerms(const calls::GemmPlan &plan, support::ElementType out) {
  StoredMatrix result(plan.m, plan.n, plan.c);
  bool isDense = result.leading == (result.rowMajor ? plan.n : plan.m);
  // Results of parts are not to be larger than operands.
  if (plan.library != calls::ProductLibrary::OneDNN ||
      out != support::ElementType::F32 || !plan.summed.empty() || !isDense ||
      unitsOf(plan) != 1 || std::max(plan.m, plan.n) > plan.k ||
      StoredMatrix(plan.m, plan.k, plan.a).rowMajor ||
      !StoredMatrix(plan.k, plan.n, plan.b).rowMajor)
    return {1, plan.k};
  double products = static_cast<double>(plan.m) * static_cast<double>(plan.n) *
                    static_cast<double>(plan.k);
  int64_t parts = fewPieces;
  while (parts > 1 &&
         (!partTerms.isReachedBy(products / static_cast<double>(parts)) ||
          plan.k / parts < leastPart))
    parts /= 2;
  if (parts == 1)
    return {1, plan.k};
  int64_t terms = (plan.k + parts - 1) / parts;
  terms = (terms + termStep - 1) / termStep * termStep;
  return {(plan.k + terms - 1) / terms, terms};
}

} // namespace shoal::products
