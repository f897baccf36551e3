// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How NCCL reduces what it reduces: see ncclReduces of shoal/Calls.

#ifndef SHOAL_LIB_RUNTIME_CUDA_REDUCTIONS_H
#define SHOAL_LIB_RUNTIME_CUDA_REDUCTIONS_H

#include "../Program/Numeric.h"
#include "Api.h"

#include <optional>

namespace shoal::rt {

/// How NCCL is to combine elements.
struct Reduction {
  ncclDataType_t type;
  ncclRedOp_t op;

  bool operator==(const Reduction &) const = default;
};

/// None unless ncclReduces.
std::optional<Reduction> reductionFor(ElementType type, Kind kind);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_REDUCTIONS_H
