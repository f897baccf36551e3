// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BLASKernels.h"

#include <cstdlib>
#include <string_view>

// OpenBLAS alone has them; another BLAS has variables of its own for threads.
// Those of gotoblas are in builds for several CPUs.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
void openblas_set_num_threads(int) __attribute__((weak));
char *openblas_get_corename() __attribute__((weak));
void gotoblas_dynamic_init() __attribute__((weak));
void gotoblas_dynamic_quit() __attribute__((weak));
}
// NOLINTEND(readability-identifier-naming)

namespace {

constexpr const char *kVariable = "OPENBLAS_CORETYPE";
/// What it calls the kernels that any CPU of 64 bits runs.
constexpr std::string_view kLeast = "Prescott";

/// The name of the kernels that this CPU runs; null where they are the least.
const char *findKernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return "Haswell";
#endif
  return nullptr;
}

} // namespace

void shoal::rt::prepareBLASKernels() {
  // Threads of ours call it: a product is cut the same way for all numbers of
  // them, which BLAS' own cut is not.
  if (openblas_set_num_threads)
    openblas_set_num_threads(1);
  if (!openblas_get_corename || !gotoblas_dynamic_init ||
      !gotoblas_dynamic_quit || std::getenv(kVariable) ||
      openblas_get_corename() != kLeast)
    return;
  const char *kernels = findKernels();
  if (!kernels)
    return;
  // It reads the variable when it is begun again.
  setenv(kVariable, kernels, /*overwrite=*/0);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv(kVariable);
}
