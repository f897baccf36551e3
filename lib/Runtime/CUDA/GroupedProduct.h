// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// shoal_rt_ragged_einsum by a kernel that reads the bounds on the device.

#ifndef SHOAL_LIB_RUNTIME_CUDA_GROUPEDPRODUCT_H
#define SHOAL_LIB_RUNTIME_CUDA_GROUPEDPRODUCT_H

#include "../CUDAKernels/Parameters.h"
#include "../Products/RaggedPlan.h"

#include <optional>

namespace shoal::rt {

/// A ragged einsum as matrix products of groups of rows.
struct GroupedProduct {
  /// Without its pointers.
  GroupedParameters parameters;
  const char *kernel;
  /// a is in1 and b is in0.
  bool swaps;
  int64_t blocks;
};

/// None for integers, and where the rows or the terms of a group are no single
/// loop.
std::optional<GroupedProduct> planGrouped(const RaggedPlan &plan);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_GROUPEDPRODUCT_H
