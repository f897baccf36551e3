// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Products/OneDNN.h"

namespace shoal::products {

bool isNarrowProduct(ProductLibrary library,
                     const std::array<ElementType, 2> &operands) {
  return library == ProductLibrary::OneDNN &&
         operands[0] == ElementType::BF16 && operands[1] == ElementType::BF16;
}

ProductModel oneDNNModel(const ProductModel &model, bool isNarrow) {
  ProductModel result = model;
  result.flopsPerSecond =
      isNarrow ? model.oneDNNRates.narrowFlops : model.oneDNNRates.flops;
  result.takesBatches = true;
  return result;
}

/// Whether the matrix is dense, or its lines lie between those of `between`,
/// as loops over all products see it.
static bool liesBetween(int64_t rows, int64_t columns, MatrixStrides strides,
                        const Loop<3> *between, size_t operand) {
  StoredMatrix stored(rows, columns, strides);
  int64_t dense = stored.rowMajor ? columns : rows;
  if (stored.leading == dense)
    return true;
  return between && between->strides[operand] == dense &&
         stored.leading == dense * between->size;
}

bool suitsOneDNN(const GemmPlan &gemm, bool isNarrow,
                 const ProductModel &model) {
  bool isFlat = gemm.m == 1 || gemm.n == 1 || gemm.k < 4;
  if (!isNarrow &&
      (isFlat || gemm.m * gemm.n * gemm.k < model.oneDNNRates.leastTerms))
    return false;
  const Loop<3> *inner = !gemm.outer.empty()   ? &gemm.outer.back()
                         : !gemm.batch.empty() ? &gemm.batch.back()
                                               : nullptr;
  return liesBetween(gemm.m, gemm.k, gemm.a, inner, 0) &&
         liesBetween(gemm.k, gemm.n, gemm.b, inner, 1) &&
         liesBetween(gemm.m, gemm.n, gemm.c, inner, 2);
}

} // namespace shoal::products
