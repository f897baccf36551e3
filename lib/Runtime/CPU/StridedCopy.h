// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between strided tensors, the data movement of every runtime call.

#ifndef SHOAL_LIB_RUNTIME_CPU_STRIDEDCOPY_H
#define SHOAL_LIB_RUNTIME_CPU_STRIDEDCOPY_H

#include "../Memory/BoxCopy.h"
#include "../Program/Numeric.h"

namespace shoal::rt {

/// Operand 0 is the source, operand 1 the target; the target's elements are
/// distinct. Converts by convert<>; transposes go through cache-sized tiles.
void copyStrided(Loops<2> loops, ElementType from, const void *source,
                 ElementType to, void *target);

/// Of no bytes there may be no memory either.
void copyBytes(const void *source, void *target, int64_t bytes);
void zeroBytes(void *target, int64_t bytes);

void copyBox(const BoxCopy &box, ElementType type, const void *source,
             void *target);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_STRIDEDCOPY_H
