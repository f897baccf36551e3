// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choosing matrix products for a contraction.
//
// A matrix product C[m,n] += A[m,k] B[k,n] of BLAS takes one loop of rows, one
// of columns and one summed loop, where in each matrix one of its two loops is
// dense. Neighbouring loops merge into one where all operands allow it; what
// does not merge stays a loop around the product. Packing an operand (a copy,
// for one batch index at a time) makes all its loops merge, at the price of the
// copy. All eight choices of what to pack and all choices of loops are priced
// by a model of time and the cheapest is taken.

#ifndef SHOAL_LIB_RUNTIME_COMMON_EINSUMPLAN_H
#define SHOAL_LIB_RUNTIME_COMMON_EINSUMPLAN_H

#include "EinsumSpec.h"

#include <optional>

namespace shoal::rt {

/// A matrix by the strides of its loops; at least one is dense.
struct MatrixStrides {
  int64_t row;
  int64_t column;
};

/// How an operand is brought into a dense scratch for one batch index.
struct Packing {
  bool packed = false;
  /// Operand 0 the tensor, 1 the scratch.
  Loops<2> copy;
  int64_t elements = 0;
};

struct GemmPlan {
  /// Over the tensors themselves.
  Loops<3> batch;
  /// Both operands and the result; the last is unpacked.
  std::array<Packing, 3> packing;
  /// Around the products, over what packing leaves: rows and columns, then the
  /// summed loops, of which all but the first iteration add to the result.
  Loops<3> outer;
  Loops<3> summed;
  int64_t m = 1;
  int64_t n = 1;
  int64_t k = 1;
  MatrixStrides a;
  MatrixStrides b;
  MatrixStrides c;
  /// Seconds, by the model.
  double cost = 0;
};

/// The cheapest plan in which every operand of `mustPack` is packed; none if
/// no choice of loops has dense enough matrices. Loops have sizes above 1.
std::optional<GemmPlan> planGemm(const Contraction &contraction,
                                 const std::array<bool, 3> &mustPack,
                                 int64_t elementBytes);

/// The model's price of the same contraction by LoopProduct.
double loopCost(const Contraction &contraction);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COMMON_EINSUMPLAN_H
