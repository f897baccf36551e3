// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CPU_LOOPPRODUCT_H
#define SHOAL_LIB_RUNTIME_CPU_LOOPPRODUCT_H

#include "../Program/Numeric.h"
#include "shoal/Products/PlanEinsum.h"

namespace shoal::rt {

/// By vectorised loops, of operands of `typeIn`. The types are equal, or both
/// are floats of at most 32 bits.
void runLoops(const LoopProduct &product, ElementType typeIn,
              ElementType typeOut, const void *a, const void *b, void *result);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_LOOPPRODUCT_H
