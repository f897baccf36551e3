// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/LinearAlgebra/BLASKernels.h"

#include <cblas.h>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string_view>
#include <vector>

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
char *openblas_get_corename() __attribute__((weak));
void gotoblas_dynamic_init() __attribute__((weak));
void gotoblas_dynamic_quit() __attribute__((weak));
}
// NOLINTEND(readability-identifier-naming)

static void prepare() {
  shoal::lapack::prepareBLAS({nullptr, openblas_get_corename,
                              gotoblas_dynamic_init, gotoblas_dynamic_quit});
}

TEST(BLASKernels, AreWhatTheCPUCanDo) {
  if (!openblas_get_corename || !gotoblas_dynamic_init ||
      std::getenv("OPENBLAS_CORETYPE"))
    GTEST_SKIP() << "not OpenBLAS for several CPUs, or its kernels are given";
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    GTEST_SKIP() << "a CPU without AVX2";
#endif
  prepare();
  EXPECT_NE(openblas_get_corename(), std::string_view("Prescott"));
  EXPECT_EQ(std::getenv("OPENBLAS_CORETYPE"), nullptr);
  // Again it changes nothing.
  std::string_view kernels = openblas_get_corename();
  prepare();
  EXPECT_EQ(openblas_get_corename(), kernels);
}

TEST(BLASKernels, MultiplyBehindAChange) {
  constexpr int kSize = 96;
  std::vector<float> a(kSize * kSize), b(kSize * kSize), before, after;
  for (int i = 0; i < kSize * kSize; ++i) {
    a[i] = static_cast<float>(i % 7);
    b[i] = static_cast<float>(i % 5);
  }
  auto multiply = [&] {
    std::vector<float> c(kSize * kSize);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, kSize, kSize, kSize, 1,
                a.data(), kSize, b.data(), kSize, 0, c.data(), kSize);
    return c;
  };
  before = multiply();
  prepare();
  after = multiply();
  // Small integers are exact.
  EXPECT_EQ(before, after);
}
