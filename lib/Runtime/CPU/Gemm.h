// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CPU_GEMM_H
#define SHOAL_LIB_RUNTIME_CPU_GEMM_H

#include "../Common/Numeric.h"
#include "../Common/ProductMemory.h"
#include "shoal/Products/GemmPlan.h"
#include "shoal/Support/Result.h"

namespace shoal::rt {

/// Has BLAS take its buffer, which it keeps, or says that there is no room for
/// it. OpenBLAS would take it in the first product, and where the system
/// refuses ask for ever without a word.
support::Status prepareLibrary();

void runGemm(const GemmPlan &plan, ElementType compute,
             const GemmTensors &tensors, const ProductMemory &memory);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_GEMM_H
