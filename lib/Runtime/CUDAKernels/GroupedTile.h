// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a grouped product computes at a time; see Grouped.cu.

#ifndef SHOAL_LIB_RUNTIME_CUDAKERNELS_GROUPEDTILE_H
#define SHOAL_LIB_RUNTIME_CUDAKERNELS_GROUPEDTILE_H

#include "Kernel.h"

namespace shoal::rt {

/// One group's product of a tile.
struct TileProduct {
  /// Of row, column and term 0.
  int64_t a, b;
  /// Of the tile in the result's part.
  int64_t row, column;
  int64_t beginK, endK;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDAKERNELS_GROUPEDTILE_H
