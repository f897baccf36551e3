// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CPU_BINARYEINSUM_H
#define SHOAL_LIB_RUNTIME_CPU_BINARYEINSUM_H

#include "../Common/Numeric.h"
#include "shoal/Products/BinaryEinsum.h"

namespace shoal::rt {

void runBinary(const BinaryEinsum &einsum, const void *a, const void *b,
               void *result);

/// A one of every type, the second operand of sums over one.
const void *oneOf(ElementType type);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_BINARYEINSUM_H
