// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How a value gets from one sharding to another: a short list of steps, each
// one collective or a local operation.

#ifndef SHOAL_SHARDING_RESHARDPLAN_H
#define SHOAL_SHARDING_RESHARDPLAN_H

#include "shoal/Sharding/Sharding.h"
#include "llvm/ADT/StringRef.h"

namespace shoal {

enum class StepKind {
  Slice,
  ToPartial,
  ReduceScatter,
  AllToAll,
  CollectivePermute,
  AllReduce,
  AllGather,
  /// From any sharding to any other, each device receiving what it lacks.
  Exchange,
  /// Every device has its block of the other device order already.
  Relabel,
  /// The tensor has another shape with the same elements in the same order, and
  /// every device has its block of that already.
  Reshape
};

/// "all_to_all"
llvm::StringRef nameOf(StepKind kind);

/// A step and the sharding that it ends in. What is done follows from the two
/// shardings around it; see describeStep.
struct PlannedStep {
  StepKind step;
  Sharding result;
  /// The result is over the target's device order, not the source's.
  bool inTargetOrder = false;
  /// The shape that the result splits; empty for the tensor's own.
  llvm::SmallVector<int64_t, 0> shape = {};

  llvm::ArrayRef<int64_t> shapeOr(llvm::ArrayRef<int64_t> own) const {
    return shape.empty() ? own : llvm::ArrayRef<int64_t>(shape);
  }
};
using ReshardPlan = llvm::SmallVector<PlannedStep>;

/// Plans `source` -> `target` for a tensor of `shape`, at the least bytes that
/// the busiest device sends or receives. `targetMesh` is the mesh with the
/// target's device order where that is another one.
///
/// Without sums to reduce the plan is one of two: standard collectives alone,
/// in the order slice, all_to_all, collective_permute, all_gather, where blocks
/// nest; or one exchange, which moves what the worst device lacks. The cheaper
/// is taken, collectives if equal.
///
/// Sums are reduced by an all_reduce, or by a reduce_scatter before which axes
/// that would be idle are sliced and after which follows a plan as above;
/// whatever is cheapest. Where the slice stands behind what is reduced, blocks
/// are strided in between: blocks of a tensor in another shape, see Reshape.
/// Even splits take the least bytes that any order of steps does.
///
/// Under another device order a value that is whole, or whose blocks are where
/// they are needed, is relabelled; else the reordering is part of the exchange.
///
/// No intermediate value is larger on a device than both ends.
///
/// Where axes split `source` over which `target` is partial, the last step is a
/// to_partial that puts each block among zeros.
ReshardPlan planReshard(llvm::ArrayRef<int64_t> shape, const Sharding &source,
                        const Sharding &target, const Mesh &mesh,
                        const Mesh *targetMesh = nullptr);

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
