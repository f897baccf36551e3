// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which reductions NCCL does, and which are combined by a kernel of ours.
//
//  type          sum    prod      max, min    and, or
//  f32, f64      NCCL   NCCL      kernel      not defined
//  bf16, f16     NCCL   kernel    kernel      not defined
//  i64, i32, i8  NCCL   NCCL      NCCL        kernel
//  i16           kernel for all: NCCL has no such type
//  i1            NCCL's max of bytes for or, its min for and
//
// NCCL does not promise NaN for a max or a min with one, and has no bitwise
// kinds. A product of small floats by it may be rounded otherwise than after
// each pair; of a sum, whose terms it adds in f32, this is accepted.

#ifndef SHOAL_LIB_RUNTIME_CUDA_REDUCTIONS_H
#define SHOAL_LIB_RUNTIME_CUDA_REDUCTIONS_H

#include "../Common/Numeric.h"
#include "Api.h"

#include <optional>

namespace shoal::rt {

/// How NCCL is to combine elements.
struct Reduction {
  ncclDataType_t type;
  ncclRedOp_t op;

  bool operator==(const Reduction &) const = default;
};

/// None if a kernel has to.
std::optional<Reduction> reductionFor(ElementType type, Kind kind);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_REDUCTIONS_H
