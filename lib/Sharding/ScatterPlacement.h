// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Where the blocks of a sum go that devices hold addends of.

#ifndef SHOAL_LIB_SHARDING_SCATTERPLACEMENT_H
#define SHOAL_LIB_SHARDING_SCATTERPLACEMENT_H

#include "StepCost.h"
#include <optional>

namespace shoal {

/// Axes put on top of a source with partial sums: after the slices, after the
/// reduce_scatter, and after an all_reduce over the axes that found no place.
struct ScatterPlacement {
  Sharding sliced, scattered, reduced;
  /// Elements that the reduce_scatter and the all_reduce send.
  double elements = 0;
};

/// Whether placeSums tries all places of so many axes, among which another
/// dimension that is split at neither end changes nothing.
bool triesAllPlaces(size_t rank, size_t numAxes);

/// Tries each dimension for each of the idle axes `slices` and of the axes
/// `sums` of partial sums; the rest of the way to `target` is priced by the
/// bound, reshardBytes. Past a few hundred combinations only the first
/// dimension that has room counts. Blocks stay full, but for axes at their own
/// place in the target.
ScatterPlacement placeSums(const ReshardProblem &problem,
                           const Sharding &source, const Sharding &target,
                           llvm::ArrayRef<AxisId> slices,
                           llvm::ArrayRef<AxisId> sums);

} // namespace shoal

#endif // SHOAL_LIB_SHARDING_SCATTERPLACEMENT_H
