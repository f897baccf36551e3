// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StepCost.h"
#include "shoal/Sharding/ExchangeCost.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;

int64_t shoal::localElements(const ReshardProblem &problem,
                             const Sharding &sharding) {
  return localBytes(problem.shape, 1, sharding, problem.mesh);
}

/// What the device receives that has least of its part.
static double elementsOfGather(const ReshardProblem &problem,
                               const Sharding &before, const Sharding &after) {
  double own = 1;
  for (auto [n, from, to] :
       llvm::zip_equal(problem.shape, before.dims, after.dims)) {
    int64_t p = problem.mesh.sizeOf(from);
    // The last block of a dimension may be short or empty.
    own *= to.empty() && !from.empty() ? shardRows(n, p, p - 1).size()
                                       : shardSize(n, p);
  }
  return localElements(problem, after) - own;
}

/// Pieces have one size, with padding where they are cut unevenly.
static double elementsOfAllToAll(const ReshardProblem &problem,
                                 const Sharding &before, const Sharding &after,
                                 int64_t members) {
  double piece = 1;
  for (auto [from, to] :
       llvm::zip_equal(localShape(problem.shape, before, problem.mesh),
                       localShape(problem.shape, after, problem.mesh)))
    piece *= std::min(from, to);
  return (members - 1) * piece;
}

static double elementsOfExchange(const ReshardProblem &problem,
                                 const Sharding &before, const Sharding &after,
                                 bool isReordered) {
  if (isReordered && problem.unknownOrder)
    return localElements(problem, after);
  const Mesh &target =
      isReordered && problem.targetMesh ? *problem.targetMesh : problem.mesh;
  return exchangedElements(problem.shape, problem.mesh.numDevices(),
                           layoutOf(before, problem.mesh),
                           layoutOf(after, target));
}

double shoal::elementsOfStep(const ReshardProblem &problem, StepKind step,
                             const Sharding &before, const Sharding &after,
                             bool isReordered) {
  if (llvm::is_contained(problem.shape, 0))
    return 0;
  double size = localElements(problem, before);
  double smaller = localElements(problem, after);
  ShardingDelta delta = describeStep(before, after);
  double members = problem.mesh.sizeOf(delta.partialRemoved);
  switch (step) {
  case StepKind::Slice:
  case StepKind::ToPartial:
  case StepKind::Relabel:
    return 0;
  case StepKind::CollectivePermute:
    return size;
  case StepKind::AllReduce:
    return 2 * (members - 1) / members * size;
  case StepKind::ReduceScatter:
    return (members - 1) * smaller;
  case StepKind::AllGather:
    return elementsOfGather(problem, before, after);
  case StepKind::AllToAll: {
    int64_t moved = 1;
    for (const AxisMove &move : delta.moves)
      moved *= problem.mesh.sizeOf(move.axes);
    return elementsOfAllToAll(problem, before, after, moved);
  }
  case StepKind::Exchange:
    return elementsOfExchange(problem, before, after, isReordered);
  }
  llvm_unreachable("all kinds are listed");
}

double shoal::elementsOfPlan(const ReshardProblem &problem,
                             const Sharding &source,
                             llvm::ArrayRef<PlannedStep> plan) {
  double elements = 0;
  const Sharding *at = &source;
  bool inTargetOrder = false;
  for (const PlannedStep &step : plan) {
    elements += elementsOfStep(problem, step.step, *at, step.result,
                               step.inTargetOrder != inTargetOrder);
    at = &step.result;
    inTargetOrder = step.inTargetOrder;
  }
  return elements;
}
