// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/ReshardPlan.h"
#include "BlockAddends.h"
#include "CollectivePlan.h"
#include "ScatterPlacement.h"
#include "StridedPlan.h"
#include "shoal/Sharding/ReshardCost.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

using namespace shoal;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

/// Plans one reshard, or tells what the plan would cost.
class Chooser {
public:
  Chooser(const ReshardProblem &problem, const Sharding &source,
          const Sharding &target)
      : problem(problem), source(source), target(target), unreduced(source) {
    for (AxisId axis : source.partial)
      if (!llvm::is_contained(target.partial, axis))
        reduced.push_back(axis);
    llvm::erase_if(unreduced.partial, [&](AxisId axis) {
      return llvm::is_contained(reduced, axis);
    });
  }

  ReshardPlan choose() const {
    if (reduced.empty())
      return move(source);
    ReshardPlan best;
    double least = std::numeric_limits<double>::infinity();
    visitReductions([&](double elements, auto makePlan) {
      if (isLess(least, elements))
        return;
      ReshardPlan plan = makePlan();
      if (!isLess(elements, least) && plan.size() >= best.size())
        return;
      best = std::move(plan);
      least = elements;
    });
    std::optional<ReshardPlan> strided = planStridedBelow(least);
    return strided ? *strided : best;
  }

  double price() const {
    if (reduced.empty())
      return elementsOfMove(source);
    double least = std::numeric_limits<double>::infinity();
    visitReductions(
        [&](double elements, auto) { least = std::min(least, elements); });
    std::optional<ReshardPlan> strided = planStridedBelow(least);
    return strided ? elementsOfPlan(problem, source, *strided) : least;
  }

  /// Whether no step holds more than the larger of `from` and the target.
  bool fits(const Sharding &from, ArrayRef<PlannedStep> plan) const {
    int64_t limit =
        std::max(localElements(problem, from), localElements(problem, target));
    return llvm::all_of(plan, [&](const PlannedStep &step) {
      return localElements({step.shapeOr(problem.shape), problem.mesh},
                           step.result) <= limit;
    });
  }

private:
  bool isEven(const Sharding &from, const Sharding &to) const {
    return llvm::all_of(llvm::zip_equal(problem.shape, from.dims, to.dims),
                        [&](auto dim) {
                          auto [n, before, after] = dim;
                          return n % problem.mesh.sizeOf(before) == 0 &&
                                 n % problem.mesh.sizeOf(after) == 0;
                        });
  }

  //===--------------------------------------------------------------------===//
  // Nothing to reduce
  //===--------------------------------------------------------------------===//

  /// From `from`, in the source's device order, to the target.
  ReshardPlan move(const Sharding &from) const {
    if (problem.targetMesh)
      return moveAndReorder(from);
    std::optional<ReshardPlan> standard = planStandard(from);
    bool isStandard =
        standard && !isLess(elementsOfExchange(from),
                            elementsOfPlan(problem, from, *standard));
    return isStandard ? *standard : exchangeTo(from, /*inTargetOrder=*/false);
  }

  double elementsOfMove(const Sharding &from) const {
    if (problem.targetMesh)
      return elementsOfPlan(problem, from, move(from));
    // Where splits are even nothing sends less than an exchange.
    double elements = elementsOfExchange(from);
    if (elements > 0 && !isEven(from, target))
      if (std::optional<ReshardPlan> standard = planStandard(from))
        elements = std::min(elements, elementsOfPlan(problem, from, *standard));
    return elements;
  }

  std::optional<ReshardPlan> planStandard(const Sharding &from) const {
    auto plan = planCollectives(problem.shape, from, target, problem.mesh);
    return plan && fits(from, *plan) ? plan : std::nullopt;
  }

  /// In one device order.
  double elementsOfExchange(const Sharding &from) const {
    if (isEven(from, target))
      return reshardBytes(problem.shape, 1, from, target, problem.mesh);
    return elementsOfStep(problem, StepKind::Exchange, from, target,
                          /*isReordered=*/false);
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

  /// Whether each device's block is the same in both device orders.
  bool keepsBlocks(const Sharding &sharding) const {
    if (sharding.isPartial())
      return false;
    return sharding.isReplicated() ||
           elementsOfStep(problem, StepKind::Exchange, sharding, sharding,
                          /*isReordered=*/true) == 0;
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

  /// Calls visit(elements, makePlan) for each way to reduce what is partial.
  template <typename Visitor>
  void visitReductions(Visitor &&visit) const {
    visit(elementsOfStep(problem, StepKind::AllReduce, source, unreduced,
                         /*isReordered=*/false) +
              elementsOfMove(unreduced),
          [&]() {
            ReshardPlan plan = move(unreduced);
            plan.insert(plan.begin(), {StepKind::AllReduce, unreduced});
            return plan;
          });
    if (!problem.targetMesh)
      if (auto plan =
              planCollectives(problem.shape, source, target, problem.mesh);
          plan && fits(source, *plan))
        visit(elementsOfPlan(problem, source, *plan), [&]() { return *plan; });
    visitScatters(visit);
  }

  /// A reduce_scatter, from what is there, from what the target's idle axes
  /// have sliced, and from what all idle axes have.
  template <typename Visitor>
  void visitScatters(Visitor &&visit) const {
    AxisList sums = inOrderOfTarget(reduced), slices;
    visitScatter({}, sums, visit);
    for (const AxisList &axes : target.dims)
      for (AxisId axis : axes)
        if (!source.uses(axis))
          slices.push_back(axis);
    if (!slices.empty())
      visitScatter(slices, sums, visit);
    size_t ofTarget = slices.size();
    for (AxisId axis = 0; axis < problem.mesh.axes.size(); ++axis)
      if (!source.uses(axis) && !target.uses(axis))
        slices.push_back(axis);
    if (slices.size() > ofTarget)
      visitScatter(slices, sums, visit);
  }

  template <typename Visitor>
  void visitScatter(ArrayRef<AxisId> slices, ArrayRef<AxisId> sums,
                    Visitor &&visit) const {
    ScatterPlacement placed = placeSums(problem, source, target, slices, sums);
    visit(placed.elements + elementsOfMove(placed.reduced), [&]() {
      ReshardPlan plan;
      auto add = [&](StepKind step, const Sharding &before,
                     const Sharding &after) {
        if (before != after)
          plan.push_back({step, after});
      };
      add(StepKind::Slice, source, placed.sliced);
      add(StepKind::ReduceScatter, placed.sliced, placed.scattered);
      add(StepKind::AllReduce, placed.scattered, placed.reduced);
      llvm::append_range(plan, move(placed.reduced));
      return plan;
    });
  }

  /// With strided blocks on the way, where that sends less than `elements`.
  std::optional<ReshardPlan> planStridedBelow(double elements) const {
    double bound = reshardBytes(problem.shape, 1, source, target, problem.mesh);
    if (problem.targetMesh || !isLess(bound, elements))
      return std::nullopt;
    std::optional<ReshardPlan> plan = planStrided(problem, source, target);
    if (!plan || !fits(source, *plan) ||
        !isLess(elementsOfPlan(problem, source, *plan), elements))
      return std::nullopt;
    return plan;
  }

  /// Those that split the target first, as they stand there.
  AxisList inOrderOfTarget(ArrayRef<AxisId> axes) const {
    AxisList ordered;
    for (const AxisList &dim : target.dims)
      for (AxisId axis : dim)
        if (llvm::is_contained(axes, axis))
          ordered.push_back(axis);
    for (AxisId axis : axes)
      if (!llvm::is_contained(ordered, axis))
        ordered.push_back(axis);
    return ordered;
  }

  const ReshardProblem &problem;
  const Sharding &source, &target;
  /// Axes whose addends are summed, and the source without them.
  AxisList reduced;
  Sharding unreduced;
};

} // namespace

ReshardPlan shoal::planReshard(ArrayRef<int64_t> shape, const Sharding &source,
                               const Sharding &target, const Mesh &mesh,
                               const Mesh *targetMesh) {
  if (source == target && !targetMesh)
    return {};
  if (auto blocks = blocksBeforeAddends(shape, source, target, mesh)) {
    ReshardPlan plan = planReshard(shape, source, *blocks, mesh, targetMesh);
    plan.push_back({StepKind::ToPartial, target, targetMesh != nullptr});
    return plan;
  }
  ReshardProblem problem{shape, mesh, targetMesh};
  Chooser chooser(problem, source, target);
  ReshardPlan plan = chooser.choose();
  assert(chooser.fits(source, plan) && "no step holds more than both ends");
  return plan;
}

double shoal::elementsOfReshard(const ReshardProblem &problem,
                                const Sharding &source,
                                const Sharding &target) {
  if (source == target && !problem.targetMesh)
    return 0;
  if (auto blocks =
          blocksBeforeAddends(problem.shape, source, target, problem.mesh))
    return elementsOfReshard(problem, source, *blocks);
  return Chooser(problem, source, target).price();
}
