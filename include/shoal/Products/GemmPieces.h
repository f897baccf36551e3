// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of a matrix product that threads compute, each by a call of a
// library on one thread. A library's own cut depends on the number of threads,
// and so do the last digits of its result; this one depends on sizes alone.

#ifndef SHOAL_PRODUCTS_GEMMPIECES_H
#define SHOAL_PRODUCTS_GEMMPIECES_H

#include "shoal/Calls/ProductPlan.h"

namespace shoal::products {

/// A grid of pieces; the last of rows and of columns may be smaller.
struct GemmPieces {
  /// Of one piece, and the number of them.
  int64_t rows, columns;
  int64_t alongRows, alongColumns;

  int64_t count() const { return alongRows * alongColumns; }
};

/// Those of one product of the plan. More the larger it is, and fewer where
/// batches and outer loops give threads enough to do: each piece packs again in
/// the library what it shares with others. oneDNN takes dense matrices: only
/// rows are cut of an operand and a result that are stored by rows, only
/// columns of those by columns.
GemmPieces cutProduct(const calls::GemmPlan &plan);

/// Parts of the terms, each summed by one thread into a result of its own;
/// these are added up in order. The last part may have fewer terms.
struct TermParts {
  int64_t count, terms;
};

/// One part but where oneDNN multiplies one matrix by another whose terms are
/// the outermost dimension of both, as those of a weight's gradient are: it
/// takes dense matrices, so that neither rows nor columns can be cut without a
/// copy. `out`: of the library's result.
TermParts cutTerms(const calls::GemmPlan &plan, support::ElementType out);

} // namespace shoal::products

#endif // SHOAL_PRODUCTS_GEMMPIECES_H
