// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Rows of split dimensions as the local forms of ops with windows need them.

#ifndef SHOAL_LIB_TRANSFORMS_PARTITION_LOCALIZE_WINDOWROWS_H
#define SHOAL_LIB_TRANSFORMS_PARTITION_LOCALIZE_WINDOWROWS_H

#include "shoal/Sharding/Window.h"
#include "shoal/Transforms/Partition/Localizer.h"
#include "llvm/Support/MathExtras.h"

namespace shoal {

/// Of a tensor of the program: a dimension, its global size and the axes that
/// split it.
struct SplitDim {
  int64_t dim, size;
  mlir::ArrayRef<AxisId> axes;
};

/// Which place something has on a device: (step * i + offset) modulo `modulus`,
/// i being the device's index. The same for all where `modulus` divides `step`.
struct Phase {
  int64_t step, offset, modulus;

  bool isConstant() const { return step % modulus == 0; }
  int64_t constant() const { return llvm::mod(offset, modulus); }
};

/// The rows base + phase ... base + phase + count - 1 of `value`, where the
/// phase is that of the device's index over `axes`. They exist.
mlir::Value cutAtPhase(Localizer &l, mlir::Value value, int64_t dim,
                       int64_t base, const Phase &phase,
                       mlir::ArrayRef<AxisId> axes, int64_t count);

/// `low` and `high` rows of `fill` around dimension `dim`, `interior` between
/// each two rows.
mlir::Value padRows(Localizer &l, mlir::Value value, int64_t dim, int64_t low,
                    int64_t high, int64_t interior, mlir::Value fill);
mlir::Value padRows(Localizer &l, mlir::Value value, int64_t dim, int64_t low,
                    int64_t high, int64_t interior, mlir::TypedAttr fill);

/// The rows of `value` that a device needs for its block of `block` rows of a
/// factor, `map` saying which those are, with `fill` for rows that do not
/// exist. Makes `window`, a global one, that of the device over these rows: its
/// first window begins at the first place that the block reads.
mlir::Value fetchWindows(Localizer &l, mlir::Value value, const SplitDim &split,
                         const RowMap &map, int64_t block, mlir::TypedAttr fill,
                         WindowDim &window);

/// The list of one of the numbers of each dimension; null where all are
/// `otherwise`.
mlir::DenseI64ArrayAttr listOf(mlir::Builder &builder,
                               mlir::ArrayRef<WindowDim> window,
                               int64_t WindowDim::*number, int64_t otherwise);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_PARTITION_LOCALIZE_WINDOWROWS_H
