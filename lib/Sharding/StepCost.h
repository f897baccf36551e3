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
};

/// Elements of one device's shard.
int64_t localElements(const ReshardProblem &problem, const Sharding &sharding);

/// Elements by the definition of Support/CollectiveBytes.h, of an exchange that
/// of ExchangeCost.h. Only those of an all_reduce may be a fraction.
/// `isReordered` says that the exchange goes from the source's device order to
/// the target's.
double elementsOfStep(const ReshardProblem &problem, StepKind step,
                      const Sharding &before, const Sharding &after,
                      bool isReordered);

/// Calls `visit` for each step of a plan with the shardings around it, the
/// step's elements, and whether it goes from the source's device order to the
/// target's.
struct VisitedStep {
  StepKind kind;
  const Sharding &before, &after;
  double elements;
  bool isReordered;
};
void visitSteps(const ReshardProblem &problem, const Sharding &source,
                llvm::ArrayRef<PlannedStep> plan,
                llvm::function_ref<void(const VisitedStep &)> visit);

double elementsOfPlan(const ReshardProblem &problem, const Sharding &source,
                      llvm::ArrayRef<PlannedStep> plan);

/// 2 (p - 1) / p of the elements.
inline double allReduceElements(int64_t elements, int64_t p) {
  return double(2 * (p - 1) * elements) / p;
}

/// elementsOfPlan of planReshard's plan. Makes none where splits are even.
double elementsOfReshard(const ReshardProblem &problem, const Sharding &source,
                         const Sharding &target);

/// Fractions of elements differ by rounding alone.
inline bool isLess(double a, double b) { return a < b * (1 - 1e-9); }

} // namespace shoal

#endif // SHOAL_LIB_SHARDING_STEPCOST_H
