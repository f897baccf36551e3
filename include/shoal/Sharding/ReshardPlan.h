// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How a value gets from one sharding to another: a short list of steps, each
// one collective or a local operation.

#ifndef SHOAL_SHARDING_RESHARDPLAN_H
#define SHOAL_SHARDING_RESHARDPLAN_H

#include "shoal/Sharding/Sharding.h"

namespace shoal {

enum class ReshardStep : uint32_t;

/// A step and the sharding that it ends in. What is done follows from the two
/// shardings around it; see describeStep.
struct PlannedStep {
  ReshardStep step;
  Sharding result;
};

/// Plans `source` -> `target` for a tensor of `shape`.
///
/// In order, each only where needed:
///   1. slice axes that are idle in the source and split the target;
///   2. reduce_scatter axes that are partial in the source and split the
///      target;
///   3. all_to_all axes that change dimension, those of several dimensions in
///      one exchange where no dimension both gives and takes;
///   4. collective_permute, where axes of a dimension are in another order;
///   5. all_reduce axes that are partial and replicate in the target;
///   6. all_gather axes that the target does not use.
/// Every intermediate state is contiguous: a list of axes per dimension. The
/// local size never exceeds that of source or target, except in the case
/// below.
///
/// On a dimension that does not divide evenly, blocks of n / p and n / (p q)
/// rows may have no common boundaries (14 rows over 2, and over 2 x 4). A step
/// between such shardings would need rows of a neighbour; there the plan
/// gathers the dimension and slices it anew.
///
/// Requires that `target` is partial only over axes that are partial or unused
/// in `source`.
llvm::SmallVector<PlannedStep> planReshard(llvm::ArrayRef<int64_t> shape,
                                           const Sharding &source,
                                           const Sharding &target,
                                           const Mesh &mesh);

/// Axes that leave `sourceDim` for `targetDim`, in the order they had.
struct AxisMove {
  AxisList axes;
  int64_t sourceDim, targetDim;
  bool operator==(const AxisMove &) const = default;
};

/// What changes between two shardings.
struct ShardingDelta {
  /// Per dimension: axes added behind those it had and idle or partial before,
  /// and axes taken from the end and idle or partial behind.
  llvm::SmallVector<AxisList, 4> added, removed;
  llvm::SmallVector<AxisMove> moves;
  AxisList partialAdded, partialRemoved;
};

/// The delta of a step that is not a collective_permute.
ShardingDelta describeStep(const Sharding &before, const Sharding &after);

/// For a collective_permute: two lists of the same axes such that the device
/// with index i over `source` sends to the device with index i over `target`.
struct AxisPermutation {
  AxisList source, target;
};
AxisPermutation describePermute(const Sharding &before, const Sharding &after,
                                const Mesh &mesh);

} // namespace shoal

#endif // SHOAL_SHARDING_RESHARDPLAN_H
