// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuBLASLt's descriptors. Attributes that the emulator does not know are
// errors, with a line that says so.

#include "CublasLtDescriptors.h"
#include "Faults.h"

#include <cstring>

using namespace shoal::emulation;

namespace {

/// Sets an attribute; its size has to be right.
template <typename T>
cublasStatus_t set(T &attribute, const void *value, size_t bytes) {
  if (!value || bytes != sizeof(T))
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(static_cast<void *>(&attribute), value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

/// An attribute of which the emulator knows only one value.
template <typename T>
cublasStatus_t expect(T only, const void *value, size_t bytes) {
  T given;
  if (cublasStatus_t failed = set(given, value, bytes))
    return failed;
  return given == only ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

} // namespace

extern "C" {

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  if (int failure = injectedFailure(__func__, CUBLAS_STATUS_ALLOC_FAILED))
    return static_cast<cublasStatus_t>(failure);
  if (!layout)
    return CUBLAS_STATUS_INVALID_VALUE;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new MatrixLayout{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete &get(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t attribute,
                                 const void *value, size_t bytes) {
  switch (attribute) {
  case CUBLASLT_MATRIX_LAYOUT_TYPE:
    return set(get(layout).type, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_ORDER:
    return set(get(layout).order, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_ROWS:
    return set(get(layout).rows, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_COLS:
    return set(get(layout).columns, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_LD:
    return set(get(layout).leading, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
    return set(get(layout).batches, value, bytes);
  case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
    return set(get(layout).batchStride, value, bytes);
  default:
    return refuse(__func__, CUBLAS_STATUS_NOT_SUPPORTED,
                  text("the emulator has no attribute ", attribute));
  }
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *descriptor,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if (int failure = injectedFailure(__func__, CUBLAS_STATUS_ALLOC_FAILED))
    return static_cast<cublasStatus_t>(failure);
  if (!descriptor)
    return CUBLAS_STATUS_INVALID_VALUE;
  *descriptor = reinterpret_cast<cublasLtMatmulDesc_t>(
      new MatmulDescriptor{compute, scale});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) {
  delete &get(descriptor);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t descriptor,
                               cublasLtMatmulDescAttributes_t attribute,
                               const void *value, size_t bytes) {
  switch (attribute) {
  case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
    return set(get(descriptor).compute, value, bytes);
  case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
    return set(get(descriptor).scale, value, bytes);
  case CUBLASLT_MATMUL_DESC_POINTER_MODE:
    return expect<int32_t>(CUBLASLT_POINTER_MODE_HOST, value, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSA:
    return set(get(descriptor).transA, value, bytes);
  case CUBLASLT_MATMUL_DESC_TRANSB:
    return set(get(descriptor).transB, value, bytes);
  case CUBLASLT_MATMUL_DESC_EPILOGUE:
    return set(get(descriptor).epilogue, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
    return set(get(descriptor).bias, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
    return set(get(descriptor).biasBatchStride, value, bytes);
  case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
    return set(get(descriptor).biasType, value, bytes);
  case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
    return set(get(descriptor).scaleA, value, bytes);
  case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
    return set(get(descriptor).scaleB, value, bytes);
  case CUBLASLT_MATMUL_DESC_C_SCALE_POINTER:
    return set(get(descriptor).scaleC, value, bytes);
  case CUBLASLT_MATMUL_DESC_D_SCALE_POINTER:
    return set(get(descriptor).scaleD, value, bytes);
  default:
    return refuse(__func__, CUBLAS_STATUS_NOT_SUPPORTED,
                  text("the emulator has no attribute ", attribute));
  }
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  if (int failure = injectedFailure(__func__, CUBLAS_STATUS_ALLOC_FAILED))
    return static_cast<cublasStatus_t>(failure);
  if (!preference)
    return CUBLAS_STATUS_INVALID_VALUE;
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete &get(preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes) {
  switch (attribute) {
  case CUBLASLT_MATMUL_PREF_SEARCH_MODE:
    return expect<uint32_t>(CUBLASLT_SEARCH_BEST_FIT, value, bytes);
  case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
    return set(get(preference).maxWorkspaceBytes, value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    return set(get(preference).alignment[0], value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    return set(get(preference).alignment[1], value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    return set(get(preference).alignment[2], value, bytes);
  case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
    return set(get(preference).alignment[3], value, bytes);
  default:
    return refuse(__func__, CUBLAS_STATUS_NOT_SUPPORTED,
                  text("the emulator has no attribute ", attribute));
  }
}
} // extern "C"
