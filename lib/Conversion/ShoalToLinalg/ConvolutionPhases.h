// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A convolution whose operand has holes between its rows, as the gradient of
// one with strides, without them.

#ifndef SHOAL_LIB_CONVERSION_SHOALTOLINALG_CONVOLUTIONPHASES_H
#define SHOAL_LIB_CONVERSION_SHOALTOLINALG_CONVOLUTIONPHASES_H

#include "shoal/Sharding/Window.h"
#include "llvm/ADT/SmallVector.h"

namespace shoal {

/// Rows of a slice: `first`, `first + step`, ..., `count` of them.
struct SteppedRows {
  int64_t first = 0, step = 1, count = 0;

  bool operator==(const SteppedRows &) const = default;
};

/// Rows of the result that meet the operand's rows, and not the holes, at the
/// same places of the kernel: of these a window over the operand as it is makes
/// those. No place: the rows are zero.
struct ConvolutionPhase {
  SteppedRows result, kernel;
  WindowDim window;
};

/// All that make `rows` rows of a dimension's result, one where the operand has
/// no holes. With a stride of 1 and places next to each other row r meets, of
/// holes of d - 1, the places k with (r + k - low) % d == 0.
llvm::SmallVector<ConvolutionPhase> phasesOf(const WindowDim &window,
                                             int64_t rows);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_SHOALTOLINALG_CONVOLUTIONPHASES_H
