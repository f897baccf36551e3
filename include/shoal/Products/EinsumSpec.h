// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An einsum by letters, and as loops over strided operands.

#ifndef SHOAL_PRODUCTS_EINSUMSPEC_H
#define SHOAL_PRODUCTS_EINSUMSPEC_H

#include "shoal/Calls/ProductCalls.h"
#include "shoal/Products/Loops.h"

namespace shoal::products {

using calls::Letters;
using calls::ProductTypes;
using support::ElementType;

/// A product of two tensors, without what is done behind the sums.
struct EinsumSpec {
  ProductTypes types;
  /// By letter.
  std::vector<int64_t> sizes;
  std::array<Letters, 2> operands;
  Letters result;
};

/// What products and sums are computed in: f64 if either type is f64, f32 for
/// other floats, the result's type for integers.
ElementType computeType(const ProductTypes &types);

/// The product of the letters' sizes.
int64_t elementsOf(const EinsumSpec &spec, const Letters &letters);

/// Each letter's stride in a dense operand; 0 for letters that it has not. A
/// repeated letter walks the diagonal: the sum of its strides.
std::vector<int64_t> letterStrides(const EinsumSpec &spec,
                                   const Letters &letters);

bool contains(const Letters &letters, int64_t letter);

/// A product of two operands by the role of each loop; operands 0 and 1, the
/// result is operand 2. No loop has size 1.
struct Contraction {
  /// In both operands and the result.
  Loops<3> batch;
  /// In operand 0 and the result.
  Loops<3> rows;
  /// In operand 1 and the result.
  Loops<3> columns;
  /// In both operands, summed.
  Loops<3> summed;
};

/// `strides` are those of both operands and the result by letter. Every letter
/// is in the result or in both operands, or in no tensor any more.
Contraction classify(const EinsumSpec &spec,
                     const std::array<std::vector<int64_t>, 3> &strides);

} // namespace shoal::products

#endif // SHOAL_PRODUCTS_EINSUMSPEC_H
