// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CPU_COMBINE_H
#define SHOAL_LIB_RUNTIME_CPU_COMBINE_H

#include "../Program/Numeric.h"

#include <span>

namespace shoal::rt {

/// out[i] = in[0][i] op in[1][i] op ... of arrays of `count` elements each,
/// from the left. Small floats are combined in f32 and rounded once. `out`
/// overlaps none of them.
void combine(ElementType type, Kind kind, int64_t count,
             std::span<const char *const> in, void *out);

/// Of `parts` arrays one after another in memory.
void combine(ElementType type, Kind kind, int64_t count, int64_t parts,
             const void *in, void *out);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_COMBINE_H
