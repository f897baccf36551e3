// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_PRODUCTS_BINARYEINSUM_H
#define SHOAL_PRODUCTS_BINARYEINSUM_H

#include "shoal/Products/GemmPlan.h"
#include "shoal/Products/LoopProduct.h"

namespace shoal::products {

/// An einsum of two operands, planned: sums over the letters that one operand
/// has alone, then a matrix product or loops.
class BinaryEinsum {
public:
  /// Letters that one operand has alone are summed before the product, or an
  /// operand of another type than its partner is converted, to the type that is
  /// computed in.
  struct Preparation {
    bool needed = false;
    LoopProduct sum;
    int64_t elements = 0;
  };

  BinaryEinsum() = default;
  /// The types are equal, or small floats into f32, or f8 into any float of at
  /// most 32 bits; no size is 0. `strides` are
  /// those of both operands by letter, 0 for letters that they have not; the
  /// result is dense.
  BinaryEinsum(EinsumSpec spec, std::array<std::vector<int64_t>, 2> strides,
               const ProductModel &model);

  std::array<ElementType, 2> typesIn = {ElementType::F32, ElementType::F32};
  ElementType typeOut = ElementType::F32;
  ElementType compute = ElementType::F32;
  std::array<Preparation, 2> preparations;
  /// One of the two.
  std::optional<GemmPlan> gemm;
  LoopProduct loops;

private:
  static Preparation prepareOperand(EinsumSpec &spec, size_t which,
                                    bool toCompute,
                                    std::vector<int64_t> &strides);
  std::optional<GemmPlan> planProduct(const Contraction &contraction,
                                      const std::array<ElementType, 2> &types,
                                      const ProductModel &model) const;
};

} // namespace shoal::products

#endif // SHOAL_PRODUCTS_BINARYEINSUM_H
