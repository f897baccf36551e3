// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/ReshardPlan.h"
#include "CollectivePlan.h"
#include "StepCost.h"
#include "shoal/Sharding/ExchangeCost.h"
#include "shoal/Sharding/ReshardCost.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace shoal;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

bool contains(ArrayRef<AxisId> list, AxisId axis) {
  return llvm::is_contained(list, axis);
}

/// Fractions of bytes differ by rounding alone.
bool isLess(double a, double b) { return a < b * (1 - 1e-9); }

class Chooser {
public:
  Chooser(const ReshardProblem &problem, const Sharding &source,
          const Sharding &target)
      : problem(problem), source(source), target(target) {
    for (AxisId axis : source.partial)
      if (!contains(target.partial, axis))
        reduced.push_back(axis);
  }

  ReshardPlan choose() {
    if (reduced.empty())
      return move(source);
    best = move(withReduced(source));
    best.insert(best.begin(), {StepKind::AllReduce, withReduced(source)});
    bestCost = costOf(best);
    if (!problem.hasOtherOrder())
      if (auto plan =
              planCollectives(problem.shape, source, target, problem.mesh))
        consider(*plan);
    for (Slicing slicing :
         {Slicing::None, Slicing::OfTarget, Slicing::OfTargetAndIdle})
      tryScatter(slicing);
    return best;
  }

private:
  enum class Slicing { None, OfTarget, OfTargetAndIdle };

  double costOf(const ReshardPlan &plan) const {
    return elementsOfPlan(problem, source, plan);
  }

  bool fits(const Sharding &from, ArrayRef<PlannedStep> plan) const {
    int64_t limit =
        std::max(localElements(problem, from), localElements(problem, target));
    return llvm::all_of(plan, [&](const PlannedStep &step) {
      return localElements(problem, step.result) <= limit;
    });
  }

  void consider(const ReshardPlan &plan) {
    double cost = costOf(plan);
    bool isBetter = isLess(cost, bestCost) ||
                    (!isLess(bestCost, cost) && plan.size() < best.size());
    if (!isBetter || !fits(source, plan))
      return;
    best = plan;
    bestCost = cost;
  }

  Sharding withReduced(Sharding sharding) const {
    llvm::erase_if(sharding.partial,
                   [&](AxisId axis) { return contains(reduced, axis); });
    return sharding;
  }

  //===--------------------------------------------------------------------===//
  // Nothing to reduce
  //===--------------------------------------------------------------------===//

  /// From `from`, in the source's device order, to the target.
  ReshardPlan move(const Sharding &from) const {
    if (problem.hasOtherOrder())
      return moveAndReorder(from);
    auto standard = planCollectives(problem.shape, from, target, problem.mesh);
    ReshardPlan exchange = exchangeTo(from, /*inTargetOrder=*/false);
    bool isStandard = standard && fits(from, *standard) &&
                      !isLess(elementsOfPlan(problem, from, exchange),
                              elementsOfPlan(problem, from, *standard));
    return isStandard ? *standard : exchange;
  }

  /// One exchange; what becomes partial does so behind it.
  ReshardPlan exchangeTo(const Sharding &from, bool inTargetOrder) const {
    Sharding moved = target;
    moved.partial = from.partial;
    ReshardPlan plan = {{StepKind::Exchange, moved, inTargetOrder}};
    if (moved != target)
      plan.push_back({StepKind::ToPartial, target, inTargetOrder});
    return plan;
  }

  static bool isWhole(const Sharding &sharding) {
    return sharding.isReplicated();
  }

  /// Whether each device's block is the same in both device orders.
  bool keepsBlocks(const Sharding &sharding) const {
    if (sharding.isPartial())
      return false;
    return isWhole(sharding) ||
           (problem.targetMesh &&
            exchangedElements(problem.shape, problem.mesh.numDevices(),
                              layoutOf(sharding, problem.mesh),
                              layoutOf(sharding, *problem.targetMesh)) == 0);
  }

  ReshardPlan moveAndReorder(const Sharding &from) const {
    ReshardProblem sameOrder{problem.shape, problem.mesh};
    ReshardPlan plan;
    if (keepsBlocks(from)) {
      plan = Chooser(sameOrder, from, target).choose();
      for (PlannedStep &step : plan)
        step.inTargetOrder = true;
      plan.insert(plan.begin(), {StepKind::Relabel, from, true});
      return plan;
    }
    if (keepsBlocks(target)) {
      plan = Chooser(sameOrder, from, target).choose();
      plan.push_back({StepKind::Relabel, target, true});
      return plan;
    }
    if (from.partial.empty())
      return exchangeTo(from, /*inTargetOrder=*/true);
    // Addends stay apart, so whole shards travel, at the smaller end.
    plan = Chooser(sameOrder, from, target).choose();
    if (localElements(problem, from) > localElements(problem, target)) {
      plan.push_back({StepKind::CollectivePermute, target, true});
      return plan;
    }
    for (PlannedStep &step : plan)
      step.inTargetOrder = true;
    plan.insert(plan.begin(), {StepKind::CollectivePermute, from, true});
    return plan;
  }

  //===--------------------------------------------------------------------===//
  // Sums
  //===--------------------------------------------------------------------===//

  /// Where axes were put on top of the source.
  struct Placement {
    /// After the slices, and after the reduce_scatter.
    Sharding sliced, scattered;
    SmallVector<AxisId> unplaced;
  };

  bool canAppend(const Sharding &sharding, size_t dim, AxisId axis) const {
    const AxisList &axes = sharding.dims[dim];
    int64_t before = problem.mesh.sizeOf(axes);
    int64_t size = problem.mesh.axes[axis].size;
    // The axis's own place in the target, or one where all blocks are full.
    const AxisList &wanted = target.dims[dim];
    bool isOwnPlace =
        axes.size() < wanted.size() && wanted[axes.size()] == axis &&
        llvm::equal(axes, ArrayRef(wanted).take_front(axes.size()));
    return isOwnPlace ? blocksNest(problem.shape[dim], before, size)
                      : problem.shape[dim] % (before * size) == 0;
  }

  void tryScatter(Slicing slicing) {
    SmallVector<AxisId> sliced;
    for (const AxisList &axes : target.dims)
      for (AxisId axis : axes)
        if (slicing != Slicing::None && !source.uses(axis))
          sliced.push_back(axis);
    if (slicing == Slicing::OfTargetAndIdle)
      for (AxisId axis = 0; axis < problem.mesh.axes.size(); ++axis)
        if (!source.uses(axis) && !target.uses(axis))
          sliced.push_back(axis);
    SmallVector<AxisId> scattered;
    for (const AxisList &axes : target.dims)
      for (AxisId axis : axes)
        if (contains(reduced, axis))
          scattered.push_back(axis);
    for (AxisId axis : reduced)
      if (!contains(scattered, axis))
        scattered.push_back(axis);
    place(sliced, scattered);
  }

  /// Tries each dimension for each axis, priced by the bound, and makes a plan
  /// of the cheapest. Past a few hundred combinations only the first dimension
  /// that has room counts.
  void place(ArrayRef<AxisId> sliced, ArrayRef<AxisId> scattered) {
    size_t combinations = 1;
    for (size_t i = 0; i < sliced.size() + scattered.size(); ++i)
      combinations = std::min<size_t>(combinations * problem.shape.size(), 512);
    greedy = combinations > 256;
    found.reset();
    placeNext(sliced, scattered, {source, source, {}}, 0);
    if (!found)
      return;
    ReshardPlan plan;
    if (found->sliced != source)
      plan.push_back({StepKind::Slice, found->sliced});
    Sharding done = found->scattered;
    if (done.dims != found->sliced.dims)
      plan.push_back({StepKind::ReduceScatter, done});
    if (withReduced(done) != done) {
      done = withReduced(done);
      plan.push_back({StepKind::AllReduce, done});
    }
    llvm::append_range(plan, move(done));
    consider(plan);
  }

  void placeNext(ArrayRef<AxisId> sliced, ArrayRef<AxisId> scattered,
                 const Placement &placement, size_t at) {
    if (at == sliced.size() + scattered.size())
      return price(placement);
    bool isSlice = at < sliced.size();
    AxisId axis = isSlice ? sliced[at] : scattered[at - sliced.size()];
    bool isPlaced = false;
    for (size_t dim = 0; dim < problem.shape.size(); ++dim) {
      if (!canAppend(placement.scattered, dim, axis))
        continue;
      Placement next = placement;
      next.scattered.dims[dim].push_back(axis);
      if (isSlice)
        next.sliced.dims[dim].push_back(axis);
      llvm::erase(next.scattered.partial, axis);
      placeNext(sliced, scattered, next, at + 1);
      isPlaced = true;
      if (greedy)
        return;
    }
    if (!isPlaced)
      placeNext(sliced, scattered, placement, at + 1);
  }

  void price(const Placement &placement) {
    double cost = elementsOfStep(problem, StepKind::ReduceScatter,
                                 placement.sliced, placement.scattered, false);
    Sharding done = withReduced(placement.scattered);
    cost += elementsOfStep(problem, StepKind::AllReduce, placement.scattered,
                           done, false);
    cost += reshardBytes(problem.shape, 1, done, target, problem.mesh,
                         problem.hasOtherOrder());
    if (found && !isLess(cost, foundCost))
      return;
    found = placement;
    foundCost = cost;
  }

  const ReshardProblem &problem;
  const Sharding &source, &target;
  /// Axes whose addends are summed.
  AxisList reduced;
  ReshardPlan best;
  double bestCost = 0;
  std::optional<Placement> found;
  double foundCost = 0;
  bool greedy = false;
};

} // namespace

ReshardPlan shoal::planReshard(const ReshardProblem &problem,
                               const Sharding &source, const Sharding &target) {
  if (source == target && !problem.hasOtherOrder())
    return {};
  return Chooser(problem, source, target).choose();
}

ReshardPlan shoal::planReshard(ArrayRef<int64_t> shape, const Sharding &source,
                               const Sharding &target, const Mesh &mesh,
                               const Mesh *targetMesh) {
  return planReshard({shape, mesh, targetMesh}, source, target);
}
