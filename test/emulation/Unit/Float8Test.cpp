// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cublasLtMatmul of 8 bits on the emulated device: what it computes, and what
// it refuses, as cuBLAS' documentation of cublasLtMatmul says.

#include "Fixture.h"
#include "shoal/Support/SmallFloat.h"

#include <cublasLt.h>
#include <optional>

using namespace shoal;

namespace {

/// A product of 32 x 48 by 48 x 16, of which tests change one thing. All
/// elements of A are 2, all of B 1.5, of f8E4M3FN or f8E5M2.
struct Product {
  cudaDataType_t typeA = CUDA_R_8F_E4M3, typeB = CUDA_R_8F_E4M3,
                 typeD = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  int32_t transA = CUBLAS_OP_T, transB = CUBLAS_OP_N;
  uint64_t m = 32, n = 16, k = 48;
  int64_t extraA = 0; // of the leading dimension
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  size_t offsetB = 0; // in bytes
  bool hasScales = false;
  std::optional<cublasLtMatmulDescAttributes_t> otherScale = {};

  float first = 0;

  static uint8_t codeOf(cudaDataType_t type, float value) {
    return type == CUDA_R_8F_E4M3 ? support::toFloat8E4M3FN(value).bits
                                  : support::toFloat8E5M2(value).bits;
  }

  cublasStatus_t run() {
    Buffer<uint8_t> a(std::vector<uint8_t>(8192, codeOf(typeA, 2))),
        b(std::vector<uint8_t>(8192, codeOf(typeB, 1.5f)));
    Buffer<float> d(4096), bias(4096), scales({0.5f, -3});
    cublasLtHandle_t handle;
    cublasLtCreate(&handle);
    cublasLtMatmulDesc_t descriptor;
    cublasLtMatmulDescCreate(&descriptor, compute, CUDA_R_32F);
    auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
      return cublasLtMatmulDescSetAttribute(descriptor, attribute, &value,
                                            sizeof(value));
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, transA);
    set(CUBLASLT_MATMUL_DESC_TRANSB, transB);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void *>(bias.data));
    if (hasScales) {
      set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
          static_cast<void *>(scales.data));
      set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
          static_cast<void *>(scales.data + 1));
    }
    if (otherScale)
      set(*otherScale, static_cast<void *>(scales.data));
    bool flipsA = transA != CUBLAS_OP_N, flipsB = transB != CUBLAS_OP_N;
    cublasLtMatrixLayout_t layouts[3];
    uint64_t rowsA = flipsA ? k : m, rowsB = flipsB ? n : k;
    cublasLtMatrixLayoutCreate(&layouts[0], typeA, rowsA, flipsA ? m : k,
                               static_cast<int64_t>(rowsA) + extraA);
    cublasLtMatrixLayoutCreate(&layouts[1], typeB, rowsB, flipsB ? k : n,
                               static_cast<int64_t>(rowsB));
    cublasLtMatrixLayoutCreate(&layouts[2], typeD, m, n,
                               static_cast<int64_t>(m));
    float one = 1, zero = 0;
    cublasStatus_t status = cublasLtMatmul(
        handle, descriptor, &one, a.data, layouts[0], b.data + offsetB,
        layouts[1], &zero, d.data, layouts[2], d.data, layouts[2],
        /*algo=*/nullptr, /*workspace=*/nullptr, 0, nullptr);
    first = d.read()[0];
    for (cublasLtMatrixLayout_t layout : layouts)
      cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(descriptor);
    return status;
  }
};

TEST(EmulatedFloat8, BothTypesAndScales) {
  for (auto [a, b] : {std::pair(CUDA_R_8F_E4M3, CUDA_R_8F_E4M3),
                      {CUDA_R_8F_E4M3, CUDA_R_8F_E5M2},
                      {CUDA_R_8F_E5M2, CUDA_R_8F_E4M3}}) {
    Product product;
    product.typeA = a, product.typeB = b;
    EXPECT_EQ(product.run(), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(product.first, 48 * 3);
    product.hasScales = true;
    EXPECT_EQ(product.run(), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(product.first, 48 * 3 * -1.5f);
  }
}

void expectStatus(cublasStatus_t status, void (*change)(Product &)) {
  Product product;
  change(product);
  EXPECT_EQ(product.run(), status);
}

TEST(EmulatedFloat8, WhatIsNotSupported) {
  cublasStatus_t unsupported = CUBLAS_STATUS_NOT_SUPPORTED;
  expectStatus(unsupported,
               [](Product &p) { p.typeA = p.typeB = CUDA_R_8F_E5M2; });
  expectStatus(unsupported, [](Product &p) { p.typeB = CUDA_R_16BF; });
  expectStatus(unsupported, [](Product &p) { p.typeD = CUDA_R_64F; });
  expectStatus(unsupported,
               [](Product &p) { p.compute = CUBLAS_COMPUTE_32F_FAST_TF32; });
  expectStatus(unsupported, [](Product &p) { p.transA = CUBLAS_OP_N; });
  expectStatus(unsupported, [](Product &p) { p.transB = CUBLAS_OP_T; });
  expectStatus(unsupported, [](Product &p) { p.k = 40; });
  expectStatus(unsupported, [](Product &p) { p.m = 34; });
  expectStatus(unsupported, [](Product &p) { p.extraA = 8; });
  // What is added to a result of f32 is of bf16.
  expectStatus(unsupported,
               [](Product &p) { p.epilogue = CUBLASLT_EPILOGUE_BIAS; });
  expectStatus(unsupported, [](Product &p) {
    p.otherScale = CUBLASLT_MATMUL_DESC_D_SCALE_POINTER;
  });
  expectStatus(CUBLAS_STATUS_INVALID_VALUE, [](Product &p) { p.offsetB = 8; });
}

TEST(EmulatedFloat8, ScalesAreForEightBits) {
  expectStatus(CUBLAS_STATUS_NOT_SUPPORTED, [](Product &p) {
    p.typeA = p.typeB = CUDA_R_16BF;
    p.hasScales = true;
  });
}

} // namespace
