// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Matmul.h"
#include "shoal/Support/SmallFloat.h"

#include <algorithm>
#include <bit>
#include <cblas.h>
#include <cmath>

namespace shoal::emulation {

using support::BFloat16;
using support::Float16;
using support::toFloat;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

template <typename T>
static T load(const void *base, cudaDataType_t type, int64_t index) {
  switch (type) {
  case CUDA_R_64F:
    return static_cast<T>(static_cast<const double *>(base)[index]);
  case CUDA_R_32F:
    return static_cast<T>(static_cast<const float *>(base)[index]);
  case CUDA_R_16F:
    return toFloat(static_cast<const Float16 *>(base)[index]);
  case CUDA_R_8F_E4M3:
    return toFloat(static_cast<const support::Float8E4M3FN *>(base)[index]);
  case CUDA_R_8F_E5M2:
    return toFloat(static_cast<const support::Float8E5M2 *>(base)[index]);
  default:
    return toFloat(static_cast<const BFloat16 *>(base)[index]);
  }
}

template <typename T>
static void store(void *base, cudaDataType_t type, int64_t index, T value) {
  float single = static_cast<float>(value);
  if (type == CUDA_R_64F)
    static_cast<double *>(base)[index] = value;
  else if (type == CUDA_R_32F)
    static_cast<float *>(base)[index] = single;
  else if (type == CUDA_R_16F)
    static_cast<Float16 *>(base)[index] = support::toFloat16(single);
  else
    static_cast<BFloat16 *>(base)[index] = support::toBFloat16(single);
}

/// To 10 bits of mantissa, to nearest, ties to even.
static float toTF32(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7f800000) == 0x7f800000)
    return value;
  bits += 0xfff + ((bits >> 13) & 1);
  return std::bit_cast<float>(bits & ~uint32_t(0x1fff));
}

/// What a product makes of an f32 operand when its compute type is a fast one.
static float roundOperand(cublasComputeType_t compute, float value) {
  switch (compute) {
  case CUBLAS_COMPUTE_32F_FAST_TF32:
    return toTF32(value);
  case CUBLAS_COMPUTE_32F_FAST_16F:
    return toFloat(support::toFloat16(value));
  case CUBLAS_COMPUTE_32F_FAST_16BF:
    return toFloat(support::toBFloat16(value));
  default:
    return value;
  }
}

static bool isRounded(cublasComputeType_t compute) {
  return compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
         compute == CUBLAS_COMPUTE_32F_FAST_16F ||
         compute == CUBLAS_COMPUTE_32F_FAST_16BF;
}

template <typename T>
static T activate(cublasLtEpilogue_t epilogue, T value) {
  // NaN goes through, as on the device.
  if (epilogue & CUBLASLT_EPILOGUE_RELU)
    return value < 0 ? T(0) : value;
  // cuBLASLt approximates gelu by tanh.
  if (epilogue & CUBLASLT_EPILOGUE_GELU) {
    T inner =
        T(0.7978845608028654) * (value + T(0.044715) * value * value * value);
    return T(0.5) * value * (1 + std::tanh(inner));
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {

/// A matrix as BLAS takes it in column-major order.
template <typename T>
struct Source {
  const T *data;
  CBLAS_TRANSPOSE transpose;
  int leading;
};

/// One matrix of a batch: itself, or a dense copy of type T in `copy`.
template <typename T>
Source<T> prepare(const void *base, const MatrixLayout &layout, int64_t batch,
                  cublasOperation_t operation, cublasComputeType_t compute,
                  std::vector<T> &copy) {
  int64_t first = batch * layout.batchStride;
  constexpr cudaDataType_t exact = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;
  bool flips = operation != CUBLAS_OP_N;
  if (layout.type == exact && !isRounded(compute)) {
    flips ^= layout.order == CUBLASLT_ORDER_ROW;
    return {static_cast<const T *>(base) + first,
            flips ? CblasTrans : CblasNoTrans,
            static_cast<int>(layout.leading)};
  }
  auto rows = static_cast<int64_t>(layout.rows);
  auto columns = static_cast<int64_t>(layout.columns);
  copy.resize(layout.rows * layout.columns);
  T *next = copy.data();
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i) {
      int64_t at = first + i * layout.rowStride() + j * layout.columnStride();
      T value = load<T>(base, layout.type, at);
      if constexpr (sizeof(T) == 4)
        value = roundOperand(compute, value);
      *next++ = value;
    }
  return {copy.data(), flips ? CblasTrans : CblasNoTrans,
          static_cast<int>(rows)};
}

void gemm(const Source<float> &a, const Source<float> &b, float *sums, int m,
          int n, int k) {
  cblas_sgemm(CblasColMajor, a.transpose, b.transpose, m, n, k, 1, a.data,
              a.leading, b.data, b.leading, 0, sums, m);
}
void gemm(const Source<double> &a, const Source<double> &b, double *sums, int m,
          int n, int k) {
  cblas_dgemm(CblasColMajor, a.transpose, b.transpose, m, n, k, 1, a.data,
              a.leading, b.data, b.leading, 0, sums, m);
}

/// The factor that a scale's pointer stands for.
float scaleAt(const void *pointer) {
  return pointer ? *static_cast<const float *>(pointer) : 1;
}

/// Everything after the sums over k, for one matrix of the batch.
template <typename T>
void finish(const Problem &problem, const Operands &operands, int64_t batch,
            const T *sums) {
  const auto &[descriptor, a, b, c, d] = problem;
  T alpha = *static_cast<const T *>(operands.alpha);
  T beta = *static_cast<const T *>(operands.beta);
  alpha *= scaleAt(descriptor.scaleA) * scaleAt(descriptor.scaleB);
  auto rows = static_cast<int64_t>(d.rows);
  auto columns = static_cast<int64_t>(d.columns);
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i) {
      T value = alpha * *sums++;
      if (beta != 0)
        value += beta * load<T>(operands.c, c.type,
                                batch * c.batchStride + i * c.rowStride() +
                                    j * c.columnStride());
      if (descriptor.hasBias())
        value += load<T>(descriptor.bias, d.type,
                         batch * descriptor.biasBatchStride + i);
      store<T>(operands.d, d.type,
               batch * d.batchStride + i * d.rowStride() + j * d.columnStride(),
               activate(descriptor.epilogue, value));
    }
}

template <typename T>
void multiplyIn(const Problem &problem, const Operands &operands) {
  const auto &[descriptor, a, b, c, d] = problem;
  std::vector<T> copyA, copyB, sums(problem.m() * problem.n());
  for (int64_t batch = 0; batch < d.batches; ++batch) {
    Source<T> left = prepare(operands.a, a, batch, descriptor.transA,
                             descriptor.compute, copyA);
    Source<T> right = prepare(operands.b, b, batch, descriptor.transB,
                              descriptor.compute, copyB);
    gemm(left, right, sums.data(), static_cast<int>(problem.m()),
         static_cast<int>(problem.n()), static_cast<int>(problem.k()));
    finish(problem, operands, batch, sums.data());
  }
}

} // namespace

void multiply(const Problem &problem, const Operands &operands) {
  if (problem.descriptor.scale == CUDA_R_64F)
    multiplyIn<double>(problem, operands);
  else
    multiplyIn<float>(problem, operands);
}

} // namespace shoal::emulation
