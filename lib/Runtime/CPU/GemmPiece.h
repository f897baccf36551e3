// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of a product that threads take (shoal/Products/GemmPieces.h).

#ifndef SHOAL_LIB_RUNTIME_CPU_GEMMPIECE_H
#define SHOAL_LIB_RUNTIME_CPU_GEMMPIECE_H

#include "Threads.h"
#include "shoal/Products/GemmPieces.h"
#include "shoal/Products/Loops.h"

#include <algorithm>

namespace shoal::rt {

/// A piece of a product, by its sizes and where it begins in each tensor.
struct GemmPiece {
  int64_t m, n;
  products::Offsets<3> begin;

  GemmPiece(const calls::GemmPlan &plan, const products::GemmPieces &pieces,
            int64_t number) {
    int64_t row = number / pieces.alongColumns * pieces.rows;
    int64_t column = number % pieces.alongColumns * pieces.columns;
    m = std::min(pieces.rows, plan.m - row);
    n = std::min(pieces.columns, plan.n - column);
    begin = {row * plan.a.row, column * plan.b.column,
             row * plan.c.row + column * plan.c.column};
  }
};

/// What a piece costs, its sums over all of the plan's `summed`; `width`: bytes
/// of an element.
inline double costOf(const calls::GemmPlan &plan,
                     const products::GemmPieces &pieces, size_t width) {
  bool isVector = plan.m == 1 || plan.n == 1;
  double perTerm = isVector ? static_cast<double>(width) : bytesPerTerm;
  return static_cast<double>(pieces.rows) *
         static_cast<double>(pieces.columns) * static_cast<double>(plan.k) *
         static_cast<double>(products::iterations(plan.summed)) * perTerm;
}

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_GEMMPIECE_H
