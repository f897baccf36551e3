// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StepCost.h"
#include "shoal/Sharding/ExchangeCost.h"
#include "shoal/Support/CollectiveBytes.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;

int64_t shoal::localElements(const ReshardProblem &problem,
                             const Sharding &sharding) {
  return localBytes(problem.shape, 1, sharding, problem.mesh);
}

namespace {
/// The shards of each dimension on one device, before and after a step, and how
/// many blocks come together, or fall apart, in it.
struct LocalChange {
  llvm::SmallVector<int64_t, 4> before, after, joined, cut;

  LocalChange(const ReshardProblem &problem, const Sharding &from,
              const Sharding &to) {
    for (auto [n, source, target] :
         llvm::zip_equal(problem.shape, from.dims, to.dims)) {
      int64_t p = problem.mesh.sizeOf(source), q = problem.mesh.sizeOf(target);
      before.push_back(shardSize(n, p));
      after.push_back(shardSize(n, q));
      joined.push_back(std::max<int64_t>(p / q, 1));
      cut.push_back(std::max<int64_t>(q / p, 1));
    }
  }
};
} // namespace

/// Devices of the groups of an all_to_all: the axes that leave a dimension.
static int64_t exchangeGroup(const Mesh &mesh, const Sharding &before,
                             const Sharding &after) {
  int64_t p = 1;
  for (auto [from, to] : llvm::zip_equal(before.dims, after.dims))
    for (AxisId axis : from)
      if (!llvm::is_contained(to, axis))
        p *= mesh.axes[axis].size;
  return p;
}

/// Devices of the groups over which a step reduces.
static int64_t reductionGroup(const Mesh &mesh, const Sharding &before,
                              const Sharding &after) {
  int64_t p = 1;
  for (AxisId axis : before.partial)
    if (!llvm::is_contained(after.partial, axis))
      p *= mesh.axes[axis].size;
  return p;
}

static double elementsOfExchange(const ReshardProblem &problem,
                                 const Sharding &before, const Sharding &after,
                                 bool isReordered) {
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
  switch (step) {
  case StepKind::Slice:
  case StepKind::ToPartial:
  case StepKind::Relabel:
  case StepKind::Reshape:
    return 0;
  case StepKind::CollectivePermute:
    return localElements(problem, before);
  case StepKind::AllReduce:
    return allReduceElements(localElements(problem, before),
                             reductionGroup(problem.mesh, before, after));
  case StepKind::ReduceScatter:
    return support::reduceScatterSize(
        localElements(problem, after),
        reductionGroup(problem.mesh, before, after));
  case StepKind::AllGather: {
    LocalChange change(problem, before, after);
    return support::allGatherSize(change.after, change.before, change.joined);
  }
  case StepKind::AllToAll: {
    LocalChange change(problem, before, after);
    return support::allToAllSize(change.before, change.cut,
                                 exchangeGroup(problem.mesh, before, after));
  }
  case StepKind::Exchange:
    return elementsOfExchange(problem, before, after, isReordered);
  }
  llvm_unreachable("all kinds are listed");
}

void shoal::visitSteps(const ReshardProblem &problem, const Sharding &source,
                       llvm::ArrayRef<PlannedStep> plan,
                       llvm::function_ref<void(const VisitedStep &)> visit) {
  const Sharding *at = &source;
  bool inTargetOrder = false;
  for (const PlannedStep &step : plan) {
    bool isReordered = step.inTargetOrder != inTargetOrder;
    double elements = elementsOfStep(
        {step.shapeOr(problem.shape), problem.mesh, problem.targetMesh},
        step.step, *at, step.result, isReordered);
    visit({step.step, *at, step.result, elements, isReordered});
    at = &step.result;
    inTargetOrder = step.inTargetOrder;
  }
}

double shoal::elementsOfPlan(const ReshardProblem &problem,
                             const Sharding &source,
                             llvm::ArrayRef<PlannedStep> plan) {
  double elements = 0;
  visitSteps(problem, source, plan,
             [&](const VisitedStep &step) { elements += step.elements; });
  return elements;
}
