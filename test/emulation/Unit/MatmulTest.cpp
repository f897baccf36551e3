// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cublasLtMatmul on the emulated device against its definition.

#include "Fixture.h"
#include "shoal/Support/SmallFloat.h"

#include <cmath>
#include <cublasLt.h>
#include <random>

using namespace shoal;
using support::BFloat16;
using support::Float16;

namespace {

float widen(float value) { return value; }
double widen(double value) { return value; }
float widen(BFloat16 value) { return support::toFloat(value); }
float widen(Float16 value) { return support::toFloat(value); }
template <typename T>
T narrow(double value) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return support::toBFloat16(static_cast<float>(value));
  else if constexpr (std::is_same_v<T, Float16>)
    return support::toFloat16(static_cast<float>(value));
  else
    return static_cast<T>(value);
}
template <typename T>
constexpr cudaDataType_t typeOf = std::is_same_v<T, float>      ? CUDA_R_32F
                                  : std::is_same_v<T, double>   ? CUDA_R_64F
                                  : std::is_same_v<T, BFloat16> ? CUDA_R_16BF
                                                                : CUDA_R_16F;

/// A descriptor for as long as it is used.
template <typename T, cublasStatus_t (*destroy)(T)>
class Owned {
public:
  Owned() = default;
  ~Owned() {
    if (handle)
      destroy(handle);
  }
  Owned(const Owned &) = delete;
  Owned &operator=(const Owned &) = delete;

  operator T() const { return handle; }
  T *put() { return &handle; }

private:
  T handle = nullptr;
};
using Descriptor = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference =
    Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

struct Case {
  uint64_t m = 5, n = 7, k = 11;
  bool transA = false, transB = false;
  int32_t batches = 1;
  cublasLtOrder_t orderD = CUBLASLT_ORDER_COL;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  double alpha = 1, beta = 0;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
};

struct Matrix {
  uint64_t rows, columns;
  int64_t leading; // padded
  int64_t stride;
  cublasLtOrder_t order;

  Matrix(uint64_t rows, uint64_t columns,
         cublasLtOrder_t order = CUBLASLT_ORDER_COL)
      : rows(rows), columns(columns),
        leading(
            static_cast<int64_t>(order == CUBLASLT_ORDER_COL ? rows : columns) +
            3),
        stride(leading * static_cast<int64_t>(std::max(rows, columns)) + 5),
        order(order) {}

  size_t at(int64_t batch, uint64_t i, uint64_t j) const {
    if (order == CUBLASLT_ORDER_ROW)
      std::swap(i, j);
    return static_cast<size_t>(batch * stride) + i +
           j * static_cast<size_t>(leading);
  }
  void describe(Layout &layout, cudaDataType_t type, int32_t batches) const {
    cublasLtMatrixLayoutCreate(layout.put(), type, rows, columns, leading);
    auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, auto value) {
      EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(layout, attribute, &value,
                                                 sizeof(value)),
                CUBLAS_STATUS_SUCCESS);
    };
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batches);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
    set(CUBLASLT_MATRIX_LAYOUT_ORDER, static_cast<int32_t>(order));
  }
};

template <typename T>
std::vector<T> randomValues(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values(count);
  for (T &value : values)
    value = narrow<T>(static_cast<double>(random() % 2001) / 1000 - 1);
  return values;
}

double activated(cublasLtEpilogue_t epilogue, double x) {
  if (epilogue & CUBLASLT_EPILOGUE_RELU)
    return x > 0 ? x : 0;
  if (epilogue & CUBLASLT_EPILOGUE_GELU)
    return 0.5 * x *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  return x;
}

/// Runs a case on operands of type In and a result of type Out.
template <typename In, typename Out>
void check(const Case &c, double tolerance) {
  Matrix a = c.transA ? Matrix(c.k, c.m) : Matrix(c.m, c.k);
  Matrix b = c.transB ? Matrix(c.n, c.k) : Matrix(c.k, c.n);
  Matrix d(c.m, c.n, c.orderD);
  auto batches = static_cast<size_t>(c.batches);
  auto size = [&](const Matrix &matrix) {
    return batches * static_cast<size_t>(matrix.stride);
  };
  auto valuesA = randomValues<In>(size(a), 1);
  auto valuesB = randomValues<In>(size(b), 2);
  auto valuesD = randomValues<Out>(size(d), 3);
  auto valuesBias = randomValues<Out>(c.m, 4);
  Buffer<In> bufferA(valuesA), bufferB(valuesB);
  Buffer<Out> bufferD(valuesD), bias(valuesBias);

  cublasLtHandle_t handle;
  SHOAL_EXPECT_OK(cublasLtCreate(&handle));
  constexpr bool isDouble = std::is_same_v<Out, double>;
  Descriptor descriptor;
  SHOAL_EXPECT_OK(cublasLtMatmulDescCreate(descriptor.put(), c.compute,
                                           isDouble ? CUDA_R_64F : CUDA_R_32F));
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
    SHOAL_EXPECT_OK(cublasLtMatmulDescSetAttribute(descriptor, attribute,
                                                   &value, sizeof(value)));
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA,
      static_cast<int32_t>(c.transA ? CUBLAS_OP_T : CUBLAS_OP_N));
  set(CUBLASLT_MATMUL_DESC_TRANSB,
      static_cast<int32_t>(c.transB ? CUBLAS_OP_T : CUBLAS_OP_N));
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<uint32_t>(c.epilogue));
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void *>(bias.data));
  Layout layoutA, layoutB, layoutD;
  a.describe(layoutA, typeOf<In>, c.batches);
  b.describe(layoutB, typeOf<In>, c.batches);
  d.describe(layoutD, typeOf<Out>, c.batches);

  Preference preference;
  SHOAL_EXPECT_OK(cublasLtMatmulPreferenceCreate(preference.put()));
  uint64_t workspaceBytes = 4096;
  SHOAL_EXPECT_OK(cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspaceBytes,
      sizeof(workspaceBytes)));
  cublasLtMatmulHeuristicResult_t result;
  int found = 0;
  SHOAL_EXPECT_OK(cublasLtMatmulAlgoGetHeuristic(
      handle, descriptor, layoutA, layoutB, layoutD, layoutD, preference, 1,
      &result, &found));
  ASSERT_EQ(found, 1);
  Buffer<char> workspace(workspaceBytes);
  using Scale = std::conditional_t<isDouble, double, float>;
  Scale alpha = static_cast<Scale>(c.alpha), beta = static_cast<Scale>(c.beta);
  SHOAL_EXPECT_OK(cublasLtMatmul(
      handle, descriptor, &alpha, bufferA.data, layoutA, bufferB.data, layoutB,
      &beta, bufferD.data, layoutD, bufferD.data, layoutD, &result.algo,
      workspace.data, workspaceBytes, nullptr));

  std::vector<Out> got = bufferD.read(), expected = valuesD;
  for (int64_t batch = 0; batch < c.batches; ++batch)
    for (uint64_t i = 0; i < c.m; ++i)
      for (uint64_t j = 0; j < c.n; ++j) {
        double sum = 0;
        for (uint64_t l = 0; l < c.k; ++l)
          sum +=
              double(widen(
                  valuesA[c.transA ? a.at(batch, l, i) : a.at(batch, i, l)])) *
              double(widen(
                  valuesB[c.transB ? b.at(batch, j, l) : b.at(batch, l, j)]));
        Out &out = expected[d.at(batch, i, j)];
        double value = c.alpha * sum + c.beta * double(widen(out));
        if (c.epilogue & CUBLASLT_EPILOGUE_BIAS)
          value += double(widen(valuesBias[i]));
        out = narrow<Out>(activated(c.epilogue, value));
      }
  // The padding between columns and matrices is as it was.
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(double(widen(got[i])), double(widen(expected[i])), tolerance)
        << "element " << i;
}

TEST(EmulatedMatmul, TransposesBatchesAndOrders) {
  for (bool transA : {false, true})
    for (bool transB : {false, true})
      for (int32_t batches : {1, 3, 70})
        for (cublasLtOrder_t order : {CUBLASLT_ORDER_COL, CUBLASLT_ORDER_ROW}) {
          Case c;
          c.transA = transA, c.transB = transB, c.batches = batches;
          c.orderD = order;
          check<float, float>(c, 1e-5);
          check<BFloat16, BFloat16>(c, 0.04);
          check<BFloat16, float>(c, 1e-5);
          check<Float16, Float16>(c, 0.005);
          c.compute = CUBLAS_COMPUTE_64F;
          check<double, double>(c, 1e-13);
        }
}

TEST(EmulatedMatmul, ScalesAndEpilogues) {
  Case c;
  c.alpha = 0.5, c.beta = -2;
  check<float, float>(c, 1e-5);
  for (cublasLtEpilogue_t epilogue :
       {CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_BIAS,
        CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU,
        CUBLASLT_EPILOGUE_GELU_BIAS}) {
    c.epilogue = epilogue;
    check<float, float>(c, 1e-5);
    check<BFloat16, BFloat16>(c, 0.04);
  }
}

//===----------------------------------------------------------------------===//
// What cuBLASLt refuses
//===----------------------------------------------------------------------===//

/// A product of 4 x 4 matrices, of which tests change one thing.
struct Product {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F, typeA = CUDA_R_32F, typeB = CUDA_R_32F,
                 typeD = CUDA_R_32F;
  uint64_t rowsA = 4, columnsD = 4;
  int64_t leadingB = 4;
  int32_t batchesA = 1, batchesD = 1;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  uint32_t alignment = 256;
  size_t offsetA = 0; // in bytes
  uint64_t workspaceBytes = 0;
  std::vector<float> valuesA = std::vector<float>(64, 1.0f);

  cublasStatus_t chosen = CUBLAS_STATUS_SUCCESS;
  float first = 0;

  cublasStatus_t run() {
    Buffer<float> a(valuesA), b(std::vector<float>(64, 1.0f)), d(64);
    cublasLtHandle_t handle;
    cublasLtCreate(&handle);
    Descriptor descriptor;
    cublasLtMatmulDescCreate(descriptor.put(), compute, scale);
    cublasLtMatmulDescSetAttribute(descriptor, CUBLASLT_MATMUL_DESC_EPILOGUE,
                                   &epilogue, sizeof(epilogue));
    Layout layoutA, layoutB, layoutD;
    cublasLtMatrixLayoutCreate(layoutA.put(), typeA, rowsA, 4, 4);
    cublasLtMatrixLayoutCreate(layoutB.put(), typeB, 4, 4, leadingB);
    cublasLtMatrixLayoutCreate(layoutD.put(), typeD, 4, columnsD, 4);
    for (auto [layout, batches] :
         {std::pair<cublasLtMatrixLayout_t, int32_t>(layoutA, batchesA),
          {layoutB, batchesA},
          {layoutD, batchesD}})
      cublasLtMatrixLayoutSetAttribute(layout,
                                       CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                       &batches, sizeof(batches));
    Preference preference;
    cublasLtMatmulPreferenceCreate(preference.put());
    cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &alignment,
        sizeof(alignment));
    uint64_t maxBytes = 4096;
    cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &maxBytes,
        sizeof(maxBytes));
    cublasLtMatmulHeuristicResult_t result;
    int found = 0;
    chosen = cublasLtMatmulAlgoGetHeuristic(handle, descriptor, layoutA,
                                            layoutB, layoutD, layoutD,
                                            preference, 1, &result, &found);
    if (found == 0)
      return chosen;
    Buffer<char> workspace(4096);
    float one = 1, zero = 0;
    cublasStatus_t status = cublasLtMatmul(
        handle, descriptor, &one, reinterpret_cast<char *>(a.data) + offsetA,
        layoutA, b.data, layoutB, &zero, d.data, layoutD, d.data, layoutD,
        &result.algo, workspace.data, workspaceBytes, nullptr);
    first = d.read()[0];
    return status;
  }
};

TEST(EmulatedMatmul, FastTypesRoundTheOperands) {
  Product product;
  product.workspaceBytes = 4096;
  product.valuesA.assign(64, 1 + 0x1p-12f);
  SHOAL_EXPECT_OK(product.run());
  EXPECT_EQ(product.first, 4 * (1 + 0x1p-12f));
  product.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  SHOAL_EXPECT_OK(product.run());
  EXPECT_EQ(product.first, 4);
}

/// A change to the product that makes cuBLASLt return a status, when the
/// algorithm is chosen or when it runs.
void expectStatus(cublasStatus_t status, void (*change)(Product &)) {
  Product product;
  product.workspaceBytes = 4096;
  EXPECT_EQ(product.run(), CUBLAS_STATUS_SUCCESS);
  change(product);
  EXPECT_EQ(product.run(), status);
}

TEST(EmulatedMatmul, LayoutsThatDoNotFit) {
  cublasStatus_t invalid = CUBLAS_STATUS_INVALID_VALUE;
  expectStatus(invalid, [](Product &p) { p.leadingB = 3; });
  expectStatus(invalid, [](Product &p) { p.rowsA = 3; });
  expectStatus(invalid, [](Product &p) { p.columnsD = 5; });
  expectStatus(invalid, [](Product &p) { p.rowsA = 0; });
  expectStatus(invalid, [](Product &p) { p.batchesA = 2; });
  // All matrices of D in one place.
  expectStatus(invalid, [](Product &p) { p.batchesA = p.batchesD = 2; });
}

TEST(EmulatedMatmul, TypesAndEpiloguesThatAreNotSupported) {
  cublasStatus_t unsupported = CUBLAS_STATUS_NOT_SUPPORTED;
  expectStatus(unsupported, [](Product &p) { p.typeB = CUDA_R_16BF; });
  expectStatus(unsupported, [](Product &p) { p.typeD = CUDA_R_16F; });
  expectStatus(unsupported, [](Product &p) { p.scale = CUDA_R_64F; });
  expectStatus(unsupported, [](Product &p) {
    p.compute = CUBLAS_COMPUTE_64F, p.scale = CUDA_R_64F;
  });
  expectStatus(unsupported,
               [](Product &p) { p.epilogue = CUBLASLT_EPILOGUE_BGRADA; });
  expectStatus(CUBLAS_STATUS_INVALID_VALUE, [](Product &p) {
    p.epilogue = CUBLASLT_EPILOGUE_BIAS; // without a bias
  });
}

TEST(EmulatedMatmul, AnAlgorithmIsUsedAsItWasChosen) {
  cublasStatus_t invalid = CUBLAS_STATUS_INVALID_VALUE;
  expectStatus(invalid, [](Product &p) { p.offsetA = 64; });
  expectStatus(CUBLAS_STATUS_SUCCESS,
               [](Product &p) { p.offsetA = p.alignment = 64; });
  expectStatus(invalid, [](Product &p) { p.workspaceBytes = 4095; });
}

TEST(EmulatedMatmul, UnknownAttributes) {
  Descriptor descriptor;
  SHOAL_EXPECT_OK(cublasLtMatmulDescCreate(descriptor.put(), CUBLAS_COMPUTE_32F,
                                           CUDA_R_32F));
  int64_t value = 0;
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(
                descriptor, CUBLASLT_MATMUL_DESC_FILL_MODE, &value, 4),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(
                descriptor, CUBLASLT_MATMUL_DESC_TRANSA, &value, sizeof(value)),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST(EmulatedMatmulDeathTest, KnowsWhatItTouches) {
  auto race = [] {
    Buffer<float> a(64), b(64), d(64);
    cudaMemsetAsync(a.data, 0, a.bytes(), makeStream());
    cublasLtHandle_t handle;
    cublasLtCreate(&handle);
    Descriptor descriptor;
    cublasLtMatmulDescCreate(descriptor.put(), CUBLAS_COMPUTE_32F, CUDA_R_32F);
    Layout layout;
    cublasLtMatrixLayoutCreate(layout.put(), CUDA_R_32F, 4, 4, 4);
    float one = 1, zero = 0;
    cublasLtMatmul(handle, descriptor, &one, b.data, layout, a.data, layout,
                   &zero, d.data, layout, d.data, layout, nullptr, nullptr, 0,
                   makeStream());
  };
  EXPECT_EXIT(race(), testing::ExitedWithCode(1),
              "cublasLtMatmul .* reads bytes \\[0, 64\\) .* which "
              "cudaMemsetAsync .* writes");
}

} // namespace
