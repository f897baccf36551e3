// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CPU_RUNPRODUCT_H
#define SHOAL_LIB_RUNTIME_CPU_RUNPRODUCT_H

#include "../Products/ProductMemory.h"
#include "../Program/Numeric.h"
#include "shoal/Products/PlanEinsum.h"

namespace shoal::rt {

/// As the plan says, of tensors of these types, none of which is to be
/// converted as a whole.
void runProduct(const ProductPlan &plan, const ProductTypes &types,
                const void *a, const void *b, void *result,
                const ProductMemory &memory);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_RUNPRODUCT_H
