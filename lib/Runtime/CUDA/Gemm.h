// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CUDA_GEMM_H
#define SHOAL_LIB_RUNTIME_CUDA_GEMM_H

#include "../Common/EinsumPlan.h"
#include "Epilogue.h"

namespace shoal::rt {

/// Enqueues the plan on the compute stream: packing of whole operands, then a
/// product of cuBLASLt for each batch that a constant stride does not reach; by
/// loops where cuBLASLt has no such product. `compute` is what a packed result
/// is held in. Whether the epilogue, if there is one, is part of the products;
/// else it is still to be applied.
bool runGemm(const GemmPlan &plan, ElementType compute,
             const GemmTensors &tensors, const Epilogue *epilogue = nullptr);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_GEMM_H
