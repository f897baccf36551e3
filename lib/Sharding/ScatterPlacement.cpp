// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScatterPlacement.h"
#include "CollectivePlan.h"
#include "shoal/Sharding/ReshardCost.h"
#include "shoal/Support/CollectiveBytes.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

using namespace shoal;
using llvm::ArrayRef;

namespace {

class Placer {
public:
  Placer(const ReshardProblem &problem, const Sharding &source,
         const Sharding &target, ArrayRef<AxisId> slices, ArrayRef<AxisId> sums)
      : problem(problem), source(source), target(target), slices(slices),
        sums(sums), state(source), dimOf(slices.size() + sums.size(), kNowhere),
        total(problem.mesh.sizeOf(sums)) {
    llvm::erase_if(state.partial,
                   [&](AxisId axis) { return llvm::is_contained(sums, axis); });
    isGreedy = !triesAllPlaces(problem.shape.size(), dimOf.size());
  }

  ScatterPlacement run() {
    placeFrom(0);
    return describeBest();
  }

private:
  static constexpr int kNowhere = -1;

  bool canAppend(size_t dim, AxisId axis) const {
    const AxisList &axes = state.dims[dim];
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

  AxisId axisAt(size_t i) const {
    return i < slices.size() ? slices[i] : sums[i - slices.size()];
  }

  void placeFrom(size_t i) {
    if (i == dimOf.size())
      return price();
    AxisId axis = axisAt(i);
    for (size_t dim = 0; dim < problem.shape.size(); ++dim) {
      if (!canAppend(dim, axis))
        continue;
      state.dims[dim].push_back(axis);
      dimOf[i] = dim;
      placeFrom(i + 1);
      state.dims[dim].pop_back();
      if (isGreedy)
        break;
    }
    if (dimOf[i] == kNowhere)
      placeFrom(i + 1);
    dimOf[i] = kNowhere;
  }

  void price() {
    int64_t group = 1;
    for (auto [axis, dim] :
         llvm::zip_equal(sums, ArrayRef(dimOf).drop_front(slices.size())))
      if (dim != kNowhere)
        group *= problem.mesh.axes[axis].size;
    int64_t size = localElements(problem, state);
    double elements = support::reduceScatterSize(size, group) +
                      allReduceElements(size, total / group);
    if (elements >= bestCost)
      return;
    double cost =
        elements + reshardBytes(problem.shape, 1, state, target, problem.mesh,
                                problem.targetMesh != nullptr);
    if (!isLess(cost, bestCost))
      return;
    best = dimOf;
    bestCost = cost;
    bestElements = elements;
  }

  ScatterPlacement describeBest() const {
    ScatterPlacement placement{source, source, source, bestElements};
    for (auto [i, dim] : llvm::enumerate(best)) {
      if (dim == kNowhere)
        continue;
      placement.scattered.dims[dim].push_back(axisAt(i));
      if (i < slices.size())
        placement.sliced.dims[dim].push_back(axisAt(i));
      else
        llvm::erase(placement.scattered.partial, axisAt(i));
    }
    placement.reduced = placement.scattered;
    placement.reduced.partial = state.partial;
    return placement;
  }

  const ReshardProblem &problem;
  const Sharding &source, &target;
  ArrayRef<AxisId> slices, sums;
  bool isGreedy = false;
  /// Without the sums, and with the axes that have a place so far.
  Sharding state;
  /// Where each axis goes, slices first.
  llvm::SmallVector<int, 6> dimOf, best;
  /// Members of the groups over all sums.
  int64_t total;
  double bestCost = std::numeric_limits<double>::infinity();
  double bestElements = 0;
};

} // namespace

bool shoal::triesAllPlaces(size_t rank, size_t numAxes) {
  size_t combinations = 1;
  for (size_t i = 0; i < numAxes; ++i)
    combinations = std::min<size_t>(combinations * rank, 512);
  return combinations <= 256;
}

ScatterPlacement shoal::placeSums(const ReshardProblem &problem,
                                  const Sharding &source,
                                  const Sharding &target,
                                  ArrayRef<AxisId> slices,
                                  ArrayRef<AxisId> sums) {
  return Placer(problem, source, target, slices, sums).run();
}
