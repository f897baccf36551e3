// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Error.h"
#include "Matmul.h"

#include <climits>
#include <cstring>

namespace shoal::emulation {

bool isFloat8(cudaDataType_t type) {
  return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

size_t elementBytes(cudaDataType_t type) {
  switch (type) {
  case CUDA_R_64F:
    return 8;
  case CUDA_R_32F:
    return 4;
  case CUDA_R_16F:
  case CUDA_R_16BF:
    return 2;
  case CUDA_R_8F_E4M3:
  case CUDA_R_8F_E5M2:
    return 1;
  default:
    return 0;
  }
}

int64_t MatrixLayout::extent() const {
  auto outer =
      static_cast<int64_t>(order == CUBLASLT_ORDER_COL ? columns : rows);
  auto inner =
      static_cast<int64_t>(order == CUBLASLT_ORDER_COL ? rows : columns);
  return (outer - 1) * leading + inner;
}

static std::string checkLayout(const char *name, const MatrixLayout &layout) {
  if (layout.rows == 0 || layout.columns == 0)
    return text(name, " is ", layout.rows, " x ", layout.columns);
  bool isColumn = layout.order == CUBLASLT_ORDER_COL;
  uint64_t dense = isColumn ? layout.rows : layout.columns;
  if (layout.leading < 0 || static_cast<uint64_t>(layout.leading) < dense)
    return text("the leading dimension ", layout.leading, " of ", name,
                " is less than its ", dense, isColumn ? " rows" : " columns");
  if (layout.batches < 1)
    return text(name, " has ", layout.batches, " batches");
  return {};
}

/// Empty if the shapes fit together.
static std::string checkShapes(const Problem &problem) {
  const auto &[descriptor, a, b, c, d] = problem;
  bool isTransposedA = descriptor.transA != CUBLAS_OP_N;
  bool isTransposedB = descriptor.transB != CUBLAS_OP_N;
  uint64_t m = isTransposedA ? a.columns : a.rows;
  uint64_t kOfA = isTransposedA ? a.rows : a.columns;
  uint64_t kOfB = isTransposedB ? b.columns : b.rows;
  uint64_t n = isTransposedB ? b.rows : b.columns;
  if (kOfA != kOfB || m != d.rows || n != d.columns || m != c.rows ||
      n != c.columns)
    return text("op(A) is ", m, " x ", kOfA, ", op(B) ", kOfB, " x ", n, ", C ",
                c.rows, " x ", c.columns, ", D ", d.rows, " x ", d.columns);
  if (a.batches != b.batches || a.batches != c.batches ||
      a.batches != d.batches)
    return text("batches: A ", a.batches, ", B ", b.batches, ", C ", c.batches,
                ", D ", d.batches);
  return {};
}

/// Whether the matrices of a batch are apart, one behind the other or with
/// their columns interleaved.
static bool isDisjoint(const MatrixLayout &layout) {
  if (layout.batches == 1)
    return true;
  auto inner = static_cast<int64_t>(
      layout.order == CUBLASLT_ORDER_COL ? layout.rows : layout.columns);
  int64_t stride = layout.batchStride;
  return stride >= layout.extent() ||
         (stride >= inner &&
          (layout.batches - 1) * stride + inner <= layout.leading);
}

static bool isSupportedFloat8(const Problem &problem) {
  const auto &[descriptor, a, b, c, d] = problem;
  bool areE5M2 = a.type == CUDA_R_8F_E5M2 && b.type == CUDA_R_8F_E5M2;
  return isFloat8(a.type) && isFloat8(b.type) && !areE5M2 && c.type == d.type &&
         descriptor.compute == CUBLAS_COMPUTE_32F &&
         descriptor.scale == CUDA_R_32F &&
         (d.type == CUDA_R_32F || d.type == CUDA_R_16F ||
          d.type == CUDA_R_16BF);
}

/// The other requirements of products of 8 bits on Ada and Hopper.
static std::string checkFloat8(const Problem &problem) {
  const auto &[descriptor, a, b, c, d] = problem;
  if (computeCapability() < 89)
    return text("products of 8 bits on sm_", computeCapability());
  if (descriptor.transA != CUBLAS_OP_T || descriptor.transB != CUBLAS_OP_N)
    return "a product of 8 bits needs A transposed and B not";
  const MatrixLayout *layouts[] = {&a, &b, &c, &d};
  for (size_t i = 0; i < 4; ++i) {
    const MatrixLayout &layout = *layouts[i];
    auto bytes = static_cast<int64_t>(elementBytes(layout.type));
    auto isWhole = [&](int64_t count) { return count * bytes % 16 == 0; };
    if (layout.order != CUBLASLT_ORDER_COL)
      return text("a product of 8 bits with ", "ABCD"[i],
                  " in row-major order");
    if (!isWhole(static_cast<int64_t>(layout.rows)) ||
        !isWhole(layout.leading) ||
        (layout.batches > 1 && !isWhole(layout.batchStride)))
      return text("a product of 8 bits needs columns of ", "ABCD"[i],
                  " in pieces of 16 bytes: rows ", layout.rows,
                  ", leading dimension ", layout.leading, ", batch stride ",
                  layout.batchStride);
  }
  if (descriptor.scaleC || descriptor.scaleD)
    return "a scale of C or D, which are not of 8 bits";
  bool isWideBias = descriptor.hasBias() && d.type == CUDA_R_32F &&
                    descriptor.biasType != CUDA_R_16BF;
  return isWideBias ? "a bias of f32 with A and B of 8 bits" : "";
}

static std::string checkScales(const MatmulDescriptor &descriptor) {
  return descriptor.scaleA || descriptor.scaleB || descriptor.scaleC ||
                 descriptor.scaleD
             ? "scales of matrices that are not of 8 bits"
             : "";
}

static bool isSupportedTypes(const Problem &problem) {
  const auto &[descriptor, a, b, c, d] = problem;
  if (isFloat8(a.type) || isFloat8(b.type))
    return isSupportedFloat8(problem);
  if (a.type != b.type || c.type != d.type)
    return false;
  switch (descriptor.compute) {
  case CUBLAS_COMPUTE_64F:
  case CUBLAS_COMPUTE_64F_PEDANTIC:
    return descriptor.scale == CUDA_R_64F && a.type == CUDA_R_64F &&
           d.type == CUDA_R_64F;
  case CUBLAS_COMPUTE_32F:
  case CUBLAS_COMPUTE_32F_PEDANTIC:
    return descriptor.scale == CUDA_R_32F &&
           (a.type == CUDA_R_32F || a.type == CUDA_R_16F ||
            a.type == CUDA_R_16BF) &&
           (d.type == CUDA_R_32F || d.type == a.type);
  case CUBLAS_COMPUTE_32F_FAST_16F:
  case CUBLAS_COMPUTE_32F_FAST_16BF:
  case CUBLAS_COMPUTE_32F_FAST_TF32:
    return descriptor.scale == CUDA_R_32F && a.type == CUDA_R_32F &&
           d.type == CUDA_R_32F;
  default:
    return false;
  }
}

static std::string checkEpilogue(const Problem &problem) {
  const MatmulDescriptor &descriptor = problem.descriptor;
  switch (descriptor.epilogue) {
  case CUBLASLT_EPILOGUE_DEFAULT:
    return {};
  case CUBLASLT_EPILOGUE_RELU:
  case CUBLASLT_EPILOGUE_BIAS:
  case CUBLASLT_EPILOGUE_RELU_BIAS:
  case CUBLASLT_EPILOGUE_GELU:
  case CUBLASLT_EPILOGUE_GELU_BIAS:
    break;
  default:
    return text("the emulator has no epilogue ", descriptor.epilogue);
  }
  if (problem.d.order != CUBLASLT_ORDER_COL)
    return "an epilogue with D in row-major order";
  if (descriptor.hasBias() && descriptor.biasType != -1 &&
      descriptor.biasType != problem.d.type)
    return text("a bias of type ", descriptor.biasType, " with D of type ",
                problem.d.type);
  return {};
}

cublasStatus_t checkProblem(const Problem &problem, std::string &why) {
  const auto &[descriptor, a, b, c, d] = problem;
  const MatrixLayout *layouts[] = {&a, &b, &c, &d};
  const char *names[] = {"A", "B", "C", "D"};
  for (size_t i = 0; i < 4 && why.empty(); ++i)
    why = checkLayout(names[i], *layouts[i]);
  if (why.empty())
    why = checkShapes(problem);
  if (why.empty() && !isDisjoint(d))
    why = text("the matrices of D overlap: batch stride ", d.batchStride);
  if (why.empty() && descriptor.hasBias() && !descriptor.bias)
    why = "an epilogue with a bias, but no CUBLASLT_MATMUL_DESC_BIAS_POINTER";
  if (!why.empty())
    return CUBLAS_STATUS_INVALID_VALUE;
  if (!isSupportedTypes(problem))
    why = text("compute type ", descriptor.compute, ", scale type ",
               descriptor.scale, ", A of type ", a.type, ", B ", b.type, ", C ",
               c.type, ", D ", d.type, " (numbers of cudaDataType)");
  if (why.empty())
    why = isFloat8(a.type) ? checkFloat8(problem) : checkScales(descriptor);
  if (why.empty())
    why = checkEpilogue(problem);
  for (const MatrixLayout *layout : layouts)
    if (why.empty() && (layout->rows > INT_MAX || layout->columns > INT_MAX ||
                        layout->leading > INT_MAX))
      why = text("the emulator has no matrix of ", layout->rows, " x ",
                 layout->columns, ", leading dimension ", layout->leading);
  return why.empty() ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

bool ignoresC(const Problem &problem, const Operands &operands) {
  if (problem.descriptor.scale == CUDA_R_64F)
    return *static_cast<const double *>(operands.beta) == 0;
  return *static_cast<const float *>(operands.beta) == 0;
}

/// One range for each matrix, but one for all where they are many.
static void addRanges(std::vector<Range> &ranges, const MatrixLayout &layout,
                      const void *pointer, bool writes) {
  uintptr_t at = reinterpret_cast<uintptr_t>(pointer);
  size_t element = elementBytes(layout.type);
  size_t bytes = static_cast<size_t>(layout.extent()) * element;
  size_t stride = static_cast<size_t>(layout.batchStride) * element;
  auto batches = static_cast<size_t>(layout.batches);
  if (batches > 64 || stride <= bytes) {
    ranges.push_back({at, at + (batches - 1) * stride + bytes, writes});
    return;
  }
  for (size_t i = 0; i < batches; ++i)
    ranges.push_back({at + i * stride, at + i * stride + bytes, writes});
}

std::vector<Range> rangesOf(const Problem &problem, const Operands &operands) {
  std::vector<Range> ranges;
  addRanges(ranges, problem.a, operands.a, /*writes=*/false);
  addRanges(ranges, problem.b, operands.b, /*writes=*/false);
  if (!ignoresC(problem, operands))
    addRanges(ranges, problem.c, operands.c, /*writes=*/false);
  addRanges(ranges, problem.d, operands.d, /*writes=*/true);
  const MatmulDescriptor &descriptor = problem.descriptor;
  for (const void *scale : {descriptor.scaleA, descriptor.scaleB})
    if (auto at = reinterpret_cast<uintptr_t>(scale))
      ranges.push_back({at, at + sizeof(float), /*writes=*/false});
  if (!descriptor.hasBias())
    return ranges;
  MatrixLayout bias{problem.d.type, problem.d.rows, 1,
                    static_cast<int64_t>(problem.d.rows)};
  bias.batches = problem.d.batches;
  bias.batchStride = descriptor.biasBatchStride;
  addRanges(ranges, bias, descriptor.bias, /*writes=*/false);
  return ranges;
}

} // namespace shoal::emulation
