// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan of matrix products on its way to cuBLASLt.

#ifndef SHOAL_LIB_RUNTIME_CUDA_PRODUCTS_H
#define SHOAL_LIB_RUNTIME_CUDA_PRODUCTS_H

#include "../Products/ProductMemory.h"
#include "../Program/Numeric.h"
#include "Api.h"
#include "shoal/Products/GemmPlan.h"

#include <optional>
#include <string>

namespace shoal::rt {

/// A plan with whole operands packed: what the products see. Operands are 0 and
/// 1, the result is 2.
struct Products {
  GemmPlan plan;
  /// Strides in elements of `type` at `data`.
  std::array<char *, 3> data;
  std::array<ElementType, 3> type;
  /// Batches and the loops around the products, merged.
  Loops<3> outer;

  int64_t widthOf(size_t operand) const {
    return static_cast<int64_t>(support::elementSize(type[operand]));
  }
  /// A bound on the alignment in bytes of all of the operand's matrices, at
  /// most 256: that of everything added up.
  int64_t alignmentOf(size_t operand) const;
};

/// Why cuBLASLt's products of 8 bits do not take these, of operands of f8, on a
/// GPU of the capability (90 for 9.0); none if they do: on sm_89 and newer, not
/// of two f8E5M2, with rows, columns and sums in multiples of 16 and a result
/// in pieces of 16 bytes (cuBLAS' documentation of cublasLtMatmul).
std::optional<std::string> findObstacle(const Products &products,
                                        int capability);

/// Of the GPU of this process.
int deviceCapability();

/// What operands of f8 are converted to where they are not multiplied as they
/// are.
ElementType widenedFloat8(const Products &products);

/// Brings both operands into the form that those products ask for: dense along
/// the sums, in pieces of 16 bytes. Operands that have it stay where they are.
void alignFloat8(Products &products, const ProductMemory &memory,
                 cudaStream_t stream);

/// The operands of f8 as bf16, or f16 where the result is: both hold all of f8.
void widenFloat8(Products &products, const ProductMemory &memory,
                 cudaStream_t stream);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_PRODUCTS_H
