// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the passes that tile transposed operands and that read such tiles agree
// on.

#ifndef SHOAL_CONVERSION_KERNELS_TRANSPOSETILES_H
#define SHOAL_CONVERSION_KERNELS_TRANSPOSETILES_H

#include "mlir/IR/AffineMap.h"
#include <optional>

namespace shoal {

/// A tile's edge: its lines stay in the first cache level until all of their
/// elements have been used, and a line of f32 is a register of AVX-512.
inline constexpr int64_t kTransposeTile = 16;

/// The loop along which an operand of this map is contiguous; nothing where
/// none is.
inline std::optional<unsigned> findContiguousLoop(mlir::AffineMap map) {
  if (map.getNumResults() == 0)
    return std::nullopt;
  auto last = mlir::dyn_cast<mlir::AffineDimExpr>(map.getResults().back());
  return last ? std::optional<unsigned>(last.getPosition()) : std::nullopt;
}

} // namespace shoal

#endif // SHOAL_CONVERSION_KERNELS_TRANSPOSETILES_H
