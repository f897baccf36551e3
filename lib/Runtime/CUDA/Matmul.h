// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products of cuBLASLt.

#ifndef SHOAL_LIB_RUNTIME_CUDA_MATMUL_H
#define SHOAL_LIB_RUNTIME_CUDA_MATMUL_H

#include "../Program/Numeric.h"
#include "Api.h"
#include "Epilogue.h"
#include "shoal/Products/ProductScratch.h"

namespace shoal::rt {

/// A matrix, or many at constant distances, and the alignment in bytes (a power
/// of two, at most 256) that each of them has.
struct MatrixBatch {
  ElementType type;
  StoredMatrix stored;
  int64_t stride;
  int64_t alignment;
};

/// An epilogue as cuBLASLt has it: a vector of C's type is added to each of C's
/// columns, or rows if it is row-major, then the activation applied.
struct MatmulEpilogue {
  Activation activation;
  /// Null for none.
  const void *bias;
  int64_t biasBatchStride;

  cublasLtEpilogue_t kind() const;
};

/// C[m, n] = A[m, k] B[k, n] for each of `batches`. A and B have the same type,
/// C that type or, for bf16 and f16, f32. Or both are of f8, but not two
/// f8E5M2, dense along k and in pieces of 16 bytes, C of f32, bf16 or f16; then
/// scales, f32 scalars, multiply the product.
struct MatmulShape {
  int64_t m, n, k;
  int64_t batches;
  MatrixBatch a, b, c;
  std::optional<MatmulEpilogue> epilogue;
  /// Null for none.
  std::array<const void *, 2> scales;
};

/// Where a product finds the vector of its epilogue and its scales, if it has
/// them.
struct MatmulFactors {
  const void *bias;
  std::array<const void *, 2> scales;
};

/// A product that cuBLASLt has an algorithm for, chosen by its heuristic when
/// it is made. f32 is computed in f32, or TF32 if asked for; bf16 and f16
/// accumulate in f32.
class Matmul {
public:
  /// The product of this shape, made at its first use and kept; null if
  /// cuBLASLt has none, which is for the caller to do otherwise.
  static const Matmul *get(const MatmulShape &shape);

  /// C (+)= A B, with the shape's epilogue and scales, which are now at
  /// `factors`. Memory must be aligned as the shape says; the workspace has
  /// workspaceBytes.
  void run(const void *a, const void *b, void *c, const MatmulFactors &factors,
           bool adds, void *workspace, cudaStream_t stream) const;

private:
  Matmul() = default;
  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, T value) const;
  void setEpilogue(const MatmulEpilogue &epilogue);
  bool make(const MatmulShape &shape);

  cublasLtMatmulDesc_t descriptor = nullptr;
  cublasLtMatrixLayout_t layouts[3] = {};
  cublasLtMatmulAlgo_t algorithm{};
  /// C is row-major: its transpose is computed, which is column-major.
  bool swaps = false;
  bool isDouble = false;
  bool hasBias = false;
  std::array<bool, 2> isScaled = {};
};

/// f32 products in TF32, ten bits of mantissa, from here on. Off at first.
void setTF32(bool enabled);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_MATMUL_H
