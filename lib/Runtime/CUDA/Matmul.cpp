// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Matmul.h"

#include <map>
#include <memory>

namespace shoal::rt {

static bool usesTF32 = false;

void setTF32(bool enabled) { usesTF32 = enabled; }

static cublasLtHandle_t handle() {
  static cublasLtHandle_t created = [] {
    cublasLtHandle_t made = nullptr;
    check(api.cublasLtCreate(&made), "cublasLtCreate");
    return made;
  }();
  return created;
}

static cudaDataType_t dataType(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return CUDA_R_32F;
  case ElementType::F64:
    return CUDA_R_64F;
  case ElementType::BF16:
    return CUDA_R_16BF;
  case ElementType::F16:
    return CUDA_R_16F;
  case ElementType::F8E4M3FN:
    return CUDA_R_8F_E4M3;
  case ElementType::F8E5M2:
    return CUDA_R_8F_E5M2;
  default:
    fatal("a matrix product of " + std::string(elementTypeName(type)));
  }
}

/// It is no matter which of the two a scale is for.
static constexpr cublasLtMatmulDescAttributes_t scaleAttributes[] = {
    CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER};

static cublasComputeType_t computeOf(ElementType type) {
  if (type == ElementType::F64)
    return CUBLAS_COMPUTE_64F;
  return type == ElementType::F32 && usesTF32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                              : CUBLAS_COMPUTE_32F;
}

/// A matrix as cuBLASLt sees it, which knows no row-major: rows are its
/// columns.
static cublasLtMatrixLayout_t makeLayout(const MatrixBatch &matrix,
                                         int64_t rows, int64_t columns,
                                         int64_t batches) {
  if (matrix.stored.rowMajor)
    std::swap(rows, columns);
  cublasLtMatrixLayout_t layout = nullptr;
  check(api.cublasLtMatrixLayoutCreate(&layout, dataType(matrix.type), rows,
                                       columns, matrix.stored.leading),
        "cublasLtMatrixLayoutCreate");
  auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, auto value) {
    check(api.cublasLtMatrixLayoutSetAttribute(layout, attribute, &value,
                                               sizeof value),
          "cublasLtMatrixLayoutSetAttribute");
  };
  set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(batches));
  set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.stride);
  return layout;
}

/// The best algorithm within the workspace, for pointers as aligned as these.
static bool chooseAlgorithm(cublasLtMatmulDesc_t descriptor,
                            const cublasLtMatrixLayout_t (&layouts)[3],
                            const int64_t (&alignments)[3],
                            cublasLtMatmulHeuristicResult_t &result) {
  cublasLtMatmulPreference_t preference = nullptr;
  check(api.cublasLtMatmulPreferenceCreate(&preference),
        "cublasLtMatmulPreferenceCreate");
  auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    check(api.cublasLtMatmulPreferenceSetAttribute(preference, attribute,
                                                   &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute");
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t(workspaceBytes));
  auto aligned = [&](int i) { return static_cast<uint32_t>(alignments[i]); };
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, aligned(0));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, aligned(1));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, aligned(2));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, aligned(2));
  int found = 0;
  cublasStatus_t status = api.cublasLtMatmulAlgoGetHeuristic(
      handle(), descriptor, layouts[0], layouts[1], layouts[2], layouts[2],
      preference, 1, &result, &found);
  check(api.cublasLtMatmulPreferenceDestroy(preference),
        "cublasLtMatmulPreferenceDestroy");
  if (status == CUBLAS_STATUS_NOT_SUPPORTED)
    return false;
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  return found > 0 && result.state == CUBLAS_STATUS_SUCCESS;
}

cublasLtEpilogue_t MatmulEpilogue::kind() const {
  switch (activation) {
  case Activation::None:
    return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  case Activation::Relu:
    return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  case Activation::Gelu:
    return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  }
  fatal("einsum: no activation has the number " +
        std::to_string(static_cast<int64_t>(activation)));
}

template <typename T>
void Matmul::set(cublasLtMatmulDescAttributes_t attribute, T value) const {
  check(api.cublasLtMatmulDescSetAttribute(descriptor, attribute,
                                           static_cast<const void *>(&value),
                                           sizeof value),
        "cublasLtMatmulDescSetAttribute");
}

/// The bias' address, too: an algorithm may be chosen by whether there is one.
void Matmul::setEpilogue(const MatmulEpilogue &epilogue) {
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue.kind());
  if (!epilogue.bias)
    return;
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, epilogue.bias);
  set(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, epilogue.biasBatchStride);
  hasBias = true;
}

/// Row-major C is computed as C^T = B^T A^T. A matrix that is row-major counts
/// as transposed already.
bool Matmul::make(const MatmulShape &shape) {
  const auto &[m, n, k, batches, a, b, c, epilogue, scales] = shape;
  if (batches > INT32_MAX)
    return false;
  isDouble = a.type == ElementType::F64;
  swaps = c.stored.rowMajor;
  check(api.cublasLtMatmulDescCreate(&descriptor, computeOf(a.type),
                                     isDouble ? CUDA_R_64F : CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  bool transposesA = a.stored.rowMajor != swaps;
  bool transposesB = b.stored.rowMajor != swaps;
  auto operation = [](bool transposes) -> int32_t {
    return transposes ? CUBLAS_OP_T : CUBLAS_OP_N;
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA,
      operation(swaps ? transposesB : transposesA));
  set(CUBLASLT_MATMUL_DESC_TRANSB,
      operation(swaps ? transposesA : transposesB));
  if (epilogue)
    setEpilogue(*epilogue);
  for (size_t i : {0, 1}) {
    isScaled[i] = scales[i] != nullptr;
    if (isScaled[i])
      set(scaleAttributes[i], scales[i]);
  }
  layouts[0] = makeLayout(a, m, k, batches);
  layouts[1] = makeLayout(b, k, n, batches);
  layouts[2] = makeLayout(c, m, n, batches);
  int64_t alignments[] = {a.alignment, b.alignment, c.alignment};
  if (swaps) {
    std::swap(layouts[0], layouts[1]);
    std::swap(alignments[0], alignments[1]);
  }
  cublasLtMatmulHeuristicResult_t result{};
  if (!chooseAlgorithm(descriptor, layouts, alignments, result))
    return false;
  algorithm = result.algo;
  return true;
}

static std::vector<int64_t> keyOf(const MatmulShape &shape) {
  std::vector<int64_t> key = {shape.m, shape.n, shape.k, shape.batches,
                              usesTF32};
  for (const MatrixBatch *matrix : {&shape.a, &shape.b, &shape.c})
    key.insert(key.end(),
               {static_cast<int64_t>(matrix->type), matrix->stored.rowMajor,
                matrix->stored.leading, matrix->stride, matrix->alignment});
  if (shape.epilogue)
    key.insert(key.end(),
               {shape.epilogue->kind(), shape.epilogue->biasBatchStride});
  for (const void *scale : shape.scales)
    key.push_back(scale != nullptr);
  return key;
}

const Matmul *Matmul::get(const MatmulShape &shape) {
  static std::map<std::vector<int64_t>, std::unique_ptr<Matmul>> known;
  auto [entry, isNew] = known.try_emplace(keyOf(shape));
  if (isNew) {
    std::unique_ptr<Matmul> matmul(new Matmul());
    if (matmul->make(shape))
      entry->second = std::move(matmul);
  }
  return entry->second.get();
}

void Matmul::run(const void *a, const void *b, void *c,
                 const MatmulFactors &factors, bool adds, void *workspace,
                 cudaStream_t stream) const {
  if (swaps)
    std::swap(a, b);
  if (hasBias)
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, factors.bias);
  for (size_t i : {0, 1})
    if (isScaled[i])
      set(scaleAttributes[i], factors.scales[i]);
  const float floatOne = 1, floatBeta = adds ? 1 : 0;
  const double doubleOne = 1, doubleBeta = adds ? 1 : 0;
  const void *alpha =
      isDouble ? static_cast<const void *>(&doubleOne) : &floatOne;
  const void *beta =
      isDouble ? static_cast<const void *>(&doubleBeta) : &floatBeta;
  setActivity("call", "einsum");
  check(api.cublasLtMatmul(handle(), descriptor, alpha, a, layouts[0], b,
                           layouts[1], beta, c, layouts[2], c, layouts[2],
                           &algorithm, workspace, workspaceBytes, stream),
        "cublasLtMatmul");
}

} // namespace shoal::rt
