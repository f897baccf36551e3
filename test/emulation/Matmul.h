// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product as cublasLtMatmul defines it: D = epilogue(alpha op(A) op(B) +
// beta C), matrices in column-major or row-major order, on the host.

#ifndef SHOAL_TEST_EMULATION_MATMUL_H
#define SHOAL_TEST_EMULATION_MATMUL_H

#include "Races.h"

#include <cublasLt.h>
#include <string>
#include <vector>

namespace shoal::emulation {

struct MatrixLayout {
  cudaDataType_t type;
  uint64_t rows;
  uint64_t columns;
  int64_t leading;
  cublasLtOrder_t order = CUBLASLT_ORDER_COL;
  int32_t batches = 1;
  int64_t batchStride = 0; // in elements

  bool operator==(const MatrixLayout &) const = default;

  /// Of one matrix, from its first to its last element.
  int64_t extent() const;
  int64_t rowStride() const {
    return order == CUBLASLT_ORDER_COL ? 1 : leading;
  }
  int64_t columnStride() const {
    return order == CUBLASLT_ORDER_COL ? leading : 1;
  }
};

struct MatmulDescriptor {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t transA = CUBLAS_OP_N;
  cublasOperation_t transB = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void *bias = nullptr;
  int64_t biasBatchStride = 0;
  int32_t biasType = -1; // that of D
  /// f32 on the device; null for 1.
  const void *scaleA = nullptr;
  const void *scaleB = nullptr;
  const void *scaleC = nullptr;
  const void *scaleD = nullptr;

  bool hasBias() const { return (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0; }
};

/// What an algorithm is chosen for.
struct Problem {
  MatmulDescriptor descriptor;
  MatrixLayout a, b, c, d;

  uint64_t m() const { return d.rows; }
  uint64_t n() const { return d.columns; }
  uint64_t k() const {
    return descriptor.transA == CUBLAS_OP_N ? a.columns : a.rows;
  }
};

struct Operands {
  const void *alpha; // of the scale type, on the host
  const void *a;
  const void *b;
  const void *beta;
  const void *c;
  void *d;
};

/// The floats of 8 bits.
bool isFloat8(cudaDataType_t type);

/// Bytes of an element; 0 for types that the emulator does not know.
size_t elementBytes(cudaDataType_t type);

/// What cublasLtMatmul makes of a problem: CUBLAS_STATUS_INVALID_VALUE where
/// the layouts do not fit together, CUBLAS_STATUS_NOT_SUPPORTED for types,
/// orders and epilogues that are in none of its tables (cuBLAS 13, "Supported
/// data types"), or that the emulator lacks. `why` names the reason.
cublasStatus_t checkProblem(const Problem &problem, std::string &why);

/// True if beta is zero, so that C is not read.
bool ignoresC(const Problem &problem, const Operands &operands);

/// What a product, which is supported, reads and writes.
std::vector<Range> rangesOf(const Problem &problem, const Operands &operands);

/// A supported product. Sums are held in f32, or f64 for f64.
void multiply(const Problem &problem, const Operands &operands);

} // namespace shoal::emulation

#endif // SHOAL_TEST_EMULATION_MATMUL_H
