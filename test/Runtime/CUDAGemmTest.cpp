// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What products of cuBLASLt do that those of the CPU do not.

#include "CUDA/Gemm.h"
#include "CUDA/Matmul.h"
#include "TestScratch.h"

#include <gtest/gtest.h>

using namespace shoal::rt;

namespace {

/// "ij,jk->ik", all sizes n.
GemmPlan squarePlan(int64_t n) {
  Contraction contraction;
  contraction.rows = {{n, {n, 0, n}}};
  contraction.columns = {{n, {0, 1, 1}}};
  contraction.summed = {{n, {1, n, 0}}};
  return planGemm(contraction, {}, /*elementBytes=*/4, deviceModel)->plan;
}

/// In scratch as the compiler provides it.
void run(const GemmPlan &plan, const GemmTensors &tensors) {
  ProductPlan product;
  product.isDevice = true;
  product.gemm = plan;
  ProductScratch pieces =
      scratchOf({{tensors.typeA, tensors.typeB}, tensors.typeC}, product);
  TestScratch scratch(sumOf(pieces));
  Scratch taken(scratch.data(), sumOf(pieces));
  runGemm(plan, ElementType::F32, tensors,
          takeMemory(taken, pieces, /*onDevice=*/true));
}

TEST(Gemm, tf32_only_if_asked_for) {
  constexpr int64_t n = 8;
  // Not a TF32, of which it is the neighbour of 1.
  constexpr float value = 1 + 0x1p-20f;
  std::vector<float> a(n * n, value), b(n * n, 1), c(n * n);
  auto product = [&] {
    run(squarePlan(n), {a.data(), ElementType::F32, b.data(), ElementType::F32,
                        c.data(), ElementType::F32});
    return c[5];
  };
  EXPECT_EQ(product(), n * value);
  setTF32(true);
  EXPECT_EQ(product(), n);
  setTF32(false);
  EXPECT_EQ(product(), n * value);
}

/// A launch costs what it costs in both cases.
TEST(Gemm, all_but_tiny_products_are_cublas) {
  auto takesProduct = [](int64_t m, int64_t n, int64_t k) {
    Contraction contraction;
    contraction.rows = {{m, {k, 0, n}}};
    contraction.columns = {{n, {0, 1, 1}}};
    contraction.summed = {{k, {1, n, 0}}};
    return planGemm(contraction, {}, 4, deviceModel)->seconds <=
           loopSeconds(contraction, deviceModel);
  };
  EXPECT_TRUE(takesProduct(64, 64, 128));
  EXPECT_TRUE(takesProduct(512, 512, 16));
  EXPECT_FALSE(takesProduct(4, 4, 4));
  EXPECT_FALSE(takesProduct(32, 32, 8));
}

/// cuBLASLt has no products of f64 with a result of f32.
TEST(Gemm, goes_by_loops_where_there_is_no_product) {
  constexpr int64_t n = 5;
  std::vector<double> a(n * n), b(n * n);
  for (int64_t i = 0; i < n * n; ++i) {
    a[i] = static_cast<double>(i % 7);
    b[i] = static_cast<double>(i % 4) - 1;
  }
  std::vector<float> c(n * n, -1);
  run(squarePlan(n), {a.data(), ElementType::F64, b.data(), ElementType::F64,
                      c.data(), ElementType::F32});
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < n; ++k) {
      double sum = 0;
      for (int64_t j = 0; j < n; ++j)
        sum += a[i * n + j] * b[j * n + k];
      EXPECT_EQ(c[i * n + k], sum);
    }
}

} // namespace
