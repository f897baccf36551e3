// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What is done to a product's result before it is stored: a bias is added, then
// an activation applied.

#ifndef SHOAL_LIB_RUNTIME_CUDA_EPILOGUE_H
#define SHOAL_LIB_RUNTIME_CUDA_EPILOGUE_H

#include "../Common/EinsumSpec.h"
#include "Api.h"
#include "shoal/Runtime/ABI.h"

#include <optional>

namespace shoal::rt {

struct Epilogue {
  shoal_rt_activation activation = SHOAL_RT_NO_ACTIVATION;
  /// In the result's type; null for none.
  const void *bias = nullptr;
  /// The result, which is dense, and the bias, by letter of the result.
  Loops<2> loops;

  /// The bias' stride along a loop of `size` steps of `stride` elements of the
  /// result; none if it has no constant one.
  std::optional<int64_t> biasStride(int64_t size, int64_t stride) const;
};

/// An epilogue of an einsum whose bias has `letters`.
Epilogue makeEpilogue(const EinsumSpec &spec, int64_t activation,
                      const void *bias, const Letters &letters);

/// Changes the result, elements of `type`, in place: where the product itself
/// could not.
void applyEpilogue(const Epilogue &epilogue, ElementType type, void *result,
                   cudaStream_t stream);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_EPILOGUE_H
