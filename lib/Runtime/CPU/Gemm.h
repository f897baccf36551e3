// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CPU_GEMM_H
#define SHOAL_LIB_RUNTIME_CPU_GEMM_H

#include "../Products/ProductMemory.h"
#include "../Program/Numeric.h"
#include "shoal/Products/GemmPlan.h"

namespace shoal::rt {

/// The plan's products by its library, with what is packed around them.
void runGemm(const GemmPlan &plan, ElementType compute,
             const GemmTensors &tensors, const ProductMemory &memory);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_GEMM_H
