// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the steps of a plan send and hold.

#ifndef SHOAL_LIB_SHARDING_STEPCOST_H
#define SHOAL_LIB_SHARDING_STEPCOST_H

#include "shoal/Sharding/ReshardPlan.h"

namespace shoal {

/// The tensor whose sharding changes.
struct ReshardProblem {
  llvm::ArrayRef<int64_t> shape;
  const Mesh &mesh;
  /// The mesh with the target's device order; null for the same one.
  const Mesh *targetMesh = nullptr;
  /// The target's device order is another one, of which nothing is known: no
  /// block counts as in place, unless one end is whole.
  bool unknownOrder = false;

  bool hasOtherOrder() const { return targetMesh || unknownOrder; }
};

/// Elements that the busiest device sends, of an exchange or all_gather
/// receives; padding counts where the collective carries it along.
/// `isReordered` says that the exchange goes from the source's device order to
/// the target's.
double elementsOfStep(const ReshardProblem &problem, StepKind step,
                      const Sharding &before, const Sharding &after,
                      bool isReordered);

double elementsOfPlan(const ReshardProblem &problem, const Sharding &source,
                      llvm::ArrayRef<PlannedStep> plan);

/// planReshard, also where nothing is known of the target's order.
ReshardPlan planReshard(const ReshardProblem &problem, const Sharding &source,
                        const Sharding &target);

/// Elements of one device's shard.
int64_t localElements(const ReshardProblem &problem, const Sharding &sharding);

} // namespace shoal

#endif // SHOAL_LIB_SHARDING_STEPCOST_H
