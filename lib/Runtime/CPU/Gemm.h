// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CPU_GEMM_H
#define SHOAL_LIB_RUNTIME_CPU_GEMM_H

#include "../Common/EinsumPlan.h"

namespace shoal::rt {

/// The tensors of a plan, with their element types. Types other than `compute`
/// (f32 or f64) are packed in the plan.
struct GemmTensors {
  const void *a;
  ElementType typeA;
  const void *b;
  ElementType typeB;
  void *c;
  ElementType typeC;
};

void runGemm(const GemmPlan &plan, ElementType compute,
             const GemmTensors &tensors);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_GEMM_H
