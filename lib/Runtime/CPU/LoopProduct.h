// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CPU_LOOPPRODUCT_H
#define SHOAL_LIB_RUNTIME_CPU_LOOPPRODUCT_H

#include "../Common/Numeric.h"
#include "shoal/Products/LoopProduct.h"

namespace shoal::rt {

/// By vectorised loops.
void runLoops(const LoopProduct &product, const void *a, const void *b,
              void *result);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_LOOPPRODUCT_H
