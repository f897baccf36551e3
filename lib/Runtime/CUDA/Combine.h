// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CUDA_COMBINE_H
#define SHOAL_LIB_RUNTIME_CUDA_COMBINE_H

#include "../Program/Numeric.h"
#include "Api.h"

namespace shoal::rt {

/// out[i] = in[0][i] op in[1][i] op ... of `parts` arrays of `count` elements
/// each, one after another in memory, from the left and rounded after each
/// pair: see shoal_rt_kind. `out` may be the first of them.
void combine(ElementType type, Kind kind, int64_t count, int64_t parts,
             const void *in, void *out, cudaStream_t stream);

/// The kind that means the same on the integers 0 and 1 for i1, else `kind`:
/// kernels know no i1.
Kind kindOn(ElementType type, Kind kind);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_COMBINE_H
