// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/LinearAlgebra/BLASKernels.h"

#include <cstdlib>
#include <string_view>

static constexpr const char *kVariable = "OPENBLAS_CORETYPE";
/// What OpenBLAS calls the kernels that any CPU of 64 bits runs.
static constexpr std::string_view kLeast = "Prescott";

/// The name of the kernels that this CPU runs; null where they are the least.
static const char *findKernels() {
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

void shoal::lapack::prepareBLAS(const BLASControls &controls) {
  if (controls.setNumThreads)
    controls.setNumThreads(1);
  if (!controls.getCoreName || !controls.begin || !controls.end ||
      std::getenv(kVariable) || controls.getCoreName() != kLeast)
    return;
  const char *kernels = findKernels();
  if (!kernels)
    return;
  // It reads the variable when it is begun again.
  setenv(kVariable, kernels, /*overwrite=*/0);
  controls.end();
  controls.begin();
  unsetenv(kVariable);
}
