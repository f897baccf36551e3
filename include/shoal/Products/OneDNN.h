// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which products of a CPU oneDNN multiplies: the one place where BLAS and
// oneDNN are weighed. docs/results/Speed.md has the measurements.

#ifndef SHOAL_PRODUCTS_ONEDNN_H
#define SHOAL_PRODUCTS_ONEDNN_H

#include "shoal/Products/GemmPlan.h"

namespace shoal::products {

/// Whether both operands are of a type that the library multiplies as it is,
/// summing in f32.
bool isNarrowProduct(ProductLibrary library,
                     const std::array<ElementType, 2> &operands);

/// The same model with oneDNN's rates for operands of this type in the library,
/// f32 or narrower.
ProductModel oneDNNModel(const ProductModel &model, bool isNarrow);

/// Whether the plan's products are for oneDNN, which has other kernels for what
/// lies otherwise:
/// * matrices are dense, or the rows of all that are not lie between those of
///   one and the same loop over products, the innermost (as the heads in
///   [batch, sequence, head, feature]);
/// * vectors and outer products of f32 are BLAS': it streams the matrix, oneDNN
///   packs it;
/// * a product of f32 has model.oneDNNRates.leastTerms multiplications or more.
bool suitsOneDNN(const GemmPlan &gemm, bool isNarrow,
                 const ProductModel &model);

} // namespace shoal::products

#endif // SHOAL_PRODUCTS_ONEDNN_H
