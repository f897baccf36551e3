// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From what a product of two tensors is to how it is computed: sums over the
// letters that one operand has alone, then matrix products or loops.

#ifndef SHOAL_PRODUCTS_PLANEINSUM_H
#define SHOAL_PRODUCTS_PLANEINSUM_H

#include "shoal/Products/GemmPlan.h"

#include <functional>

namespace shoal::products {

using calls::EinsumCall;
using calls::LoopProduct;
using calls::ProductPlan;

/// The plan of an einsum of dense tensors.
ProductPlan planEinsum(EinsumSpec spec, const ProductModel &model);

/// Which plans with library products may be chosen; empty for all.
using PlanFilter = std::function<bool(const ProductPlan &)>;

/// The same of operands with these strides by letter, 0 for letters that they
/// have not, where no size is 0 and no type has to be converted as a whole; the
/// result is dense.
ProductPlan planStrided(EinsumSpec spec,
                        std::array<std::vector<int64_t>, 2> strides,
                        const ProductModel &model,
                        const PlanFilter &filter = {});

/// Whether there is nothing to sum: the result is zero.
bool isZero(const ProductPlan &plan);

/// Whether the product is loops that a CPU's compiler writes into the program:
/// all elements are of the type that is computed in. The runtime has a kernel
/// for other loops.
bool isCode(const ProductTypes &types, const ProductPlan &plan);

/// Whether no kernel takes the mixture of types, so that whole tensors are
/// converted to and from the one that is computed in.
bool mustConvert(const ProductTypes &types);

/// The types between those conversions.
ProductTypes typesInside(const ProductTypes &types, const ProductPlan &plan);

/// Those of the operands of the matrix products or loops: of one that is
/// prepared, the type that is computed in.
std::array<ElementType, 2> preparedTypes(const ProductTypes &inside,
                                         const ProductPlan &plan);

/// That of what the library makes: where the result is packed, the type that is
/// computed in.
ElementType libraryResultType(const ProductTypes &inside, const GemmPlan &gemm);

/// The call of an einsum with nothing behind its sums.
EinsumCall makeCall(const EinsumSpec &spec, ProductPlan plan);

/// The dimensions of the result, in it and in a bias with these letters.
calls::Loops<2> biasLoops(const EinsumSpec &spec, const Letters &bias);

} // namespace shoal::products

#endif // SHOAL_PRODUCTS_PLANEINSUM_H
