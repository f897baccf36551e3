// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/ReshardPlan.h"
#include "llvm/ADT/STLExtras.h"
#include <optional>

using namespace shoal;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

// Match the cases of the TableGen enumeration of the same name.
constexpr auto kSlice = static_cast<ReshardStep>(0);
constexpr auto kToPartial = static_cast<ReshardStep>(1);
constexpr auto kReduceScatter = static_cast<ReshardStep>(2);
constexpr auto kAllToAll = static_cast<ReshardStep>(3);
constexpr auto kPermute = static_cast<ReshardStep>(4);
constexpr auto kAllReduce = static_cast<ReshardStep>(5);
constexpr auto kAllGather = static_cast<ReshardStep>(6);

bool contains(ArrayRef<AxisId> list, AxisId axis) {
  return llvm::is_contained(list, axis);
}

void erase(AxisList &list, AxisId axis) { llvm::erase(list, axis); }

/// The dimension that `axis` splits; -1 for none.
int64_t dimOf(const Sharding &sharding, AxisId axis) {
  for (auto [d, axes] : llvm::enumerate(sharding.dims))
    if (contains(axes, axis))
      return d;
  return -1;
}

/// Whether blocks over `outer` devices are unions of the blocks over
/// `outer * inner`.
bool blocksNest(int64_t n, int64_t outer, int64_t inner) {
  return outer == 1 ||
         shardSize(n, outer) == inner * shardSize(n, outer * inner);
}

/// Builds a plan step by step; `state` is where the value is so far.
class Planner {
public:
  Planner(ArrayRef<int64_t> shape, const Sharding &source,
          const Sharding &target, const Mesh &mesh)
      : shape(shape), source(source), target(target), mesh(mesh),
        state(source) {}

  /// Nothing where a step would need rows of a neighbour.
  std::optional<SmallVector<PlannedStep>> run() {
    slice();
    toPartial();
    reduceScatter();
    allToAll();
    orderForTarget();
    allReduce();
    allGather();
    if (!blocksAlwaysNest)
      return std::nullopt;
    return plan;
  }

private:
  void emit(ReshardStep step, Sharding next) {
    if (next == state)
      return;
    state = std::move(next);
    // Two permutes in a row are one, or none.
    if (step == kPermute && !plan.empty() && plan.back().step == kPermute) {
      plan.pop_back();
      if (state == (plan.empty() ? source : plan.back().result))
        return;
    }
    plan.push_back({step, state});
  }

  void checkNesting(int64_t dim, ArrayRef<AxisId> outer,
                    ArrayRef<AxisId> inner) {
    blocksAlwaysNest &=
        blocksNest(shape[dim], mesh.sizeOf(outer), mesh.sizeOf(inner));
  }

  void append(Sharding &next, int64_t dim, ArrayRef<AxisId> axes) {
    checkNesting(dim, next.dims[dim], axes);
    next.dims[dim].append(axes.begin(), axes.end());
  }

  void slice() {
    Sharding next = state;
    for (auto [d, axes] : llvm::enumerate(target.dims)) {
      AxisList idle = axes;
      llvm::erase_if(idle, [&](AxisId axis) { return state.uses(axis); });
      append(next, d, idle);
    }
    emit(kSlice, next);
  }

  void toPartial() {
    Sharding next = state;
    for (AxisId axis : target.partial)
      if (!state.uses(axis))
        next.partial.push_back(axis);
    llvm::sort(next.partial);
    emit(kToPartial, next);
  }

  void reduceScatter() {
    Sharding next = state;
    for (auto [d, axes] : llvm::enumerate(target.dims)) {
      AxisList reduced = axes;
      llvm::erase_if(
          reduced, [&](AxisId axis) { return !contains(state.partial, axis); });
      append(next, d, reduced);
      for (AxisId axis : reduced)
        erase(next.partial, axis);
    }
    emit(kReduceScatter, next);
  }

  /// Axes of `dim` that stand elsewhere in the target, by target dimension in
  /// the order of the target's list.
  SmallVector<AxisMove> movesFrom(int64_t dim) const {
    SmallVector<AxisMove> moves;
    for (auto [to, axes] : llvm::enumerate(target.dims)) {
      AxisMove move{{}, dim, static_cast<int64_t>(to)};
      for (AxisId axis : axes)
        if (move.targetDim != dim && contains(state.dims[dim], axis))
          move.axes.push_back(axis);
      if (!move.axes.empty())
        moves.push_back(move);
    }
    return moves;
  }

  /// Axes that leave must be the minor ones of their dimension, in the order
  /// in which they leave; a permute brings them there.
  void moveToEnd(ArrayRef<AxisMove> moves) {
    Sharding next = state;
    for (const AxisMove &move : moves)
      for (AxisId axis : move.axes) {
        erase(next.dims[move.sourceDim], axis);
        next.dims[move.sourceDim].push_back(axis);
      }
    emit(kPermute, next);
  }

  void allToAll() {
    while (true) {
      SmallVector<AxisMove> group;
      for (int64_t d = 0, e = shape.size(); d < e; ++d)
        for (const AxisMove &move : movesFrom(d))
          if (llvm::none_of(group, [&](const AxisMove &other) {
                return other.sourceDim == move.targetDim ||
                       other.targetDim == move.sourceDim;
              }))
            group.push_back(move);
      if (group.empty())
        return;
      moveToEnd(group);
      Sharding next = state;
      for (const AxisMove &move : group) {
        for (AxisId axis : move.axes)
          erase(next.dims[move.sourceDim], axis);
        append(next, move.targetDim, move.axes);
      }
      for (const AxisMove &move : group)
        checkNesting(move.sourceDim, next.dims[move.sourceDim],
                     leavers(group, move.sourceDim));
      emit(kAllToAll, next);
    }
  }

  static AxisList leavers(ArrayRef<AxisMove> moves, int64_t dim) {
    AxisList list;
    for (const AxisMove &move : moves)
      if (move.sourceDim == dim)
        list.append(move.axes.begin(), move.axes.end());
    return list;
  }

  /// The target's order, axes to be gathered behind it.
  void orderForTarget() {
    Sharding next = state;
    for (auto [d, axes] : llvm::enumerate(next.dims)) {
      AxisList ordered = target.dims[d];
      llvm::erase_if(ordered,
                     [&](AxisId axis) { return !contains(axes, axis); });
      for (AxisId axis : axes)
        if (!contains(ordered, axis))
          ordered.push_back(axis);
      axes = ordered;
    }
    emit(kPermute, next);
  }

  void allReduce() {
    Sharding next = state;
    next.partial = target.partial;
    emit(kAllReduce, next);
  }

  void allGather() {
    Sharding next = state;
    for (auto [d, axes] : llvm::enumerate(target.dims)) {
      checkNesting(d, axes, ArrayRef(state.dims[d]).drop_front(axes.size()));
      next.dims[d] = axes;
    }
    emit(kAllGather, next);
  }

  ArrayRef<int64_t> shape;
  const Sharding &source, &target;
  const Mesh &mesh;
  Sharding state;
  SmallVector<PlannedStep> plan;
  bool blocksAlwaysNest = true;
};

/// `target` with the dimensions whose axes differ from the source's whole.
Sharding withChangedDimsWhole(const Sharding &source, const Sharding &target) {
  Sharding result = source;
  for (auto [axes, wanted] : llvm::zip_equal(result.dims, target.dims))
    if (axes != wanted)
      axes.clear();
  result.partial.clear();
  for (AxisId axis : source.partial)
    if (contains(target.partial, axis))
      result.partial.push_back(axis);
  return result;
}

} // namespace

SmallVector<PlannedStep> shoal::planReshard(ArrayRef<int64_t> shape,
                                            const Sharding &source,
                                            const Sharding &target,
                                            const Mesh &mesh) {
  if (auto plan = Planner(shape, source, target, mesh).run())
    return *plan;
  // Both halves start or end with whole dimensions, where all blocks nest.
  Sharding middle = withChangedDimsWhole(source, target);
  SmallVector<PlannedStep> plan = *Planner(shape, source, middle, mesh).run();
  llvm::append_range(plan, *Planner(shape, middle, target, mesh).run());
  return plan;
}

ShardingDelta shoal::describeStep(const Sharding &before,
                                  const Sharding &after) {
  ShardingDelta delta;
  delta.added.resize(before.dims.size());
  delta.removed.resize(before.dims.size());
  for (auto [d, axes] : llvm::enumerate(before.dims))
    for (AxisId axis : axes) {
      int64_t to = dimOf(after, axis);
      if (to == static_cast<int64_t>(d))
        continue;
      if (to < 0) {
        delta.removed[d].push_back(axis);
        continue;
      }
      AxisMove *last = delta.moves.empty() ? nullptr : &delta.moves.back();
      if (last && last->sourceDim == static_cast<int64_t>(d) &&
          last->targetDim == to)
        last->axes.push_back(axis);
      else
        delta.moves.push_back({{axis}, static_cast<int64_t>(d), to});
    }
  for (auto [d, axes] : llvm::enumerate(after.dims))
    for (AxisId axis : axes)
      if (dimOf(before, axis) < 0)
        delta.added[d].push_back(axis);
  for (AxisId axis : before.partial)
    if (!contains(after.partial, axis))
      delta.partialRemoved.push_back(axis);
  for (AxisId axis : after.partial)
    if (!contains(before.partial, axis))
      delta.partialAdded.push_back(axis);
  return delta;
}

AxisPermutation shoal::describePermute(const Sharding &before,
                                       const Sharding &after,
                                       const Mesh &mesh) {
  AxisPermutation permutation;
  auto add = [](AxisList &list, ArrayRef<AxisId> axes) {
    list.append(axes.begin(), axes.end());
  };
  for (auto [from, to] : llvm::zip_equal(before.dims, after.dims)) {
    if (from == to)
      continue;
    add(permutation.source, from);
    add(permutation.target, to);
  }
  // Axes that one list lacks are idle there; they trade places.
  AxisList onlyTarget, onlySource;
  for (AxisId axis : permutation.target)
    if (!contains(permutation.source, axis))
      onlyTarget.push_back(axis);
  for (AxisId axis : permutation.source)
    if (!contains(permutation.target, axis))
      onlySource.push_back(axis);
  add(permutation.source, onlyTarget);
  add(permutation.target, onlySource);
  return permutation;
}
