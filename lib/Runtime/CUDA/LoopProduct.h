// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CUDA_LOOPPRODUCT_H
#define SHOAL_LIB_RUNTIME_CUDA_LOOPPRODUCT_H

#include "../Program/Numeric.h"
#include "Api.h"
#include "shoal/Products/PlanEinsum.h"

namespace shoal::rt {

/// Enqueues a kernel, of operands of `typeIn`; `b` may be null for a one. The
/// result need not be dense. The types are as on the host.
void runLoops(const LoopProduct &product, ElementType typeIn,
              ElementType typeOut, const void *a, const void *b, void *result,
              cudaStream_t stream);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_LOOPPRODUCT_H
