// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CUDA_GEMM_H
#define SHOAL_LIB_RUNTIME_CUDA_GEMM_H

#include "../Products/ProductMemory.h"
#include "../Program/Numeric.h"
#include "Epilogue.h"
#include "shoal/Products/GemmPlan.h"

#include <string>

namespace shoal::rt {

/// Enqueues the plan on the compute stream: packing of whole operands, then a
/// product of cuBLASLt for each batch that a constant stride does not reach; by
/// loops where cuBLASLt has no such product. `compute` is what a packed result
/// is held in. Whether the epilogue, if there is one, is part of the products;
/// else it is still to be applied.
/// Operands of f8 are converted to 16 bits; an epilogue has no scales.
bool runGemm(const GemmPlan &plan, ElementType compute,
             const GemmTensors &tensors, const ProductMemory &memory,
             const Epilogue *epilogue = nullptr);

/// The same of two operands of f8 by cuBLASLt's products of 8 bits, with the
/// epilogue's scales; none, and nothing done to the result, if cuBLASLt has no
/// such product.
std::optional<Applied> runFloat8Gemm(const GemmPlan &plan, ElementType compute,
                                     const GemmTensors &tensors,
                                     const ProductMemory &memory,
                                     const Epilogue *epilogue);

/// What the two above do, cuBLASLt's refusals aside.
struct GemmChoice {
  /// In one call and beside it, in loops around calls and along sums.
  int64_t batches, calls;
  /// Of the operands as cuBLASLt takes them.
  std::array<ElementType, 2> types;
  /// Why operands of f8 are not multiplied in 8 bits.
  std::optional<std::string> obstacle;
  /// Bias and activation are part of the product.
  bool hasEpilogue;
};

/// On a GPU of this capability, for tensors that are aligned.
GemmChoice chooseGemm(const GemmPlan &plan, ElementType compute,
                      const GemmTensors &tensors, const Epilogue *epilogue,
                      int capability);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_GEMM_H
