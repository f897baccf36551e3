// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between strided tensors on the device.

#ifndef SHOAL_LIB_RUNTIME_CUDA_STRIDEDCOPY_H
#define SHOAL_LIB_RUNTIME_CUDA_STRIDEDCOPY_H

#include "../Program/Numeric.h"
#include "Api.h"

namespace shoal::rt {

/// Operand 0 is the source, operand 1 the target; the target's elements are
/// distinct. Converts by convert<>, between floats or between integers. Rows go
/// in words of up to 16 bytes, transposes through tiles in shared memory.
void copyStrided(Loops<2> loops, ElementType from, const void *source,
                 ElementType to, void *target, cudaStream_t stream);

/// Sets `count` elements of `width` bytes (1, 2, 4, 8) to the low bytes of
/// `bits`.
void fill(int64_t width, uint64_t bits, int64_t count, void *target,
          cudaStream_t stream);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_STRIDEDCOPY_H
