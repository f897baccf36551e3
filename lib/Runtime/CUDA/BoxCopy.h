// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CUDA_BOXCOPY_H
#define SHOAL_LIB_RUNTIME_CUDA_BOXCOPY_H

#include "../Memory/BoxCopy.h"
#include "../Program/Numeric.h"
#include "Api.h"

namespace shoal::rt {

/// Enqueues the copy of a box, all of it on the device.
void copyBox(const BoxCopy &box, ElementType type, const void *source,
             void *target, cudaStream_t stream);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_BOXCOPY_H
