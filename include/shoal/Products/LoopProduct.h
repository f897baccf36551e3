// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_PRODUCTS_LOOPPRODUCT_H
#define SHOAL_PRODUCTS_LOOPPRODUCT_H

#include "shoal/Products/Loops.h"
#include "shoal/Support/ElementType.h"

namespace shoal::products {

using support::ElementType;

/// result[r] = sum over `summed` of a * b, by loops: what products without a
/// sum, integers and odd small contractions come to. Loops index operand 0 (a),
/// 1 (b) and 2 (the result); `outer` walks the result, which is dense, once.
/// The types are equal, or one is f32 and the other a small float, or operands
/// of f8 have a result of bf16 or f16; small floats are multiplied and summed
/// in f32.
struct LoopProduct {
  Loops<3> outer;
  Loops<3> summed;
  ElementType typeIn;
  ElementType typeOut;
};

} // namespace shoal::products

#endif // SHOAL_PRODUCTS_LOOPPRODUCT_H
