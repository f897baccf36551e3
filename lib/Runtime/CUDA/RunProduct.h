// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CUDA_RUNPRODUCT_H
#define SHOAL_LIB_RUNTIME_CUDA_RUNPRODUCT_H

#include "../Products/ProductMemory.h"
#include "../Program/Numeric.h"
#include "Gemm.h"
#include "shoal/Products/PlanEinsum.h"

namespace shoal::rt {

/// Enqueues the product on the compute stream, as the plan says, of tensors of
/// these types, none of which is to be converted as a whole. What of the
/// epilogue, if there is one, is part of it; the rest is still to be applied.
/// Scales are for operands of f8.
Applied runProduct(const ProductPlan &plan, const ProductTypes &types,
                   const void *a, const void *b, void *result,
                   const ProductMemory &memory,
                   const Epilogue *epilogue = nullptr);

/// How it multiplies; none for loops.
std::optional<GemmChoice> chooseProduct(const ProductPlan &plan,
                                        const ProductTypes &types,
                                        const Epilogue *epilogue,
                                        int capability);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_RUNPRODUCT_H
