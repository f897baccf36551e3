// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CollectivePlan.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;
using llvm::ArrayRef;
using llvm::SmallVector;

bool shoal::blocksNest(int64_t n, int64_t outer, int64_t inner) {
  return outer == 1 ||
         shardSize(n, outer) == inner * shardSize(n, outer * inner);
}

namespace {

void erase(AxisList &list, AxisId axis) { llvm::erase(list, axis); }

/// Builds a plan step by step; `state` is where the value is so far.
class Planner {
public:
  Planner(ArrayRef<int64_t> shape, const Sharding &source,
          const Sharding &target, const Mesh &mesh)
      : shape(shape), source(source), target(target), mesh(mesh),
        state(source) {}

  /// Nothing where a step would need rows of a neighbour.
  std::optional<ReshardPlan> run() {
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
  void emit(StepKind step, Sharding next) {
    if (next == state)
      return;
    state = std::move(next);
    // Two permutes in a row are one, or none.
    if (step == StepKind::CollectivePermute && !plan.empty() &&
        plan.back().step == StepKind::CollectivePermute) {
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
    emit(StepKind::Slice, next);
  }

  void toPartial() {
    Sharding next = state;
    for (AxisId axis : target.partial)
      if (!state.uses(axis))
        next.partial.push_back(axis);
    llvm::sort(next.partial);
    emit(StepKind::ToPartial, next);
  }

  void reduceScatter() {
    Sharding next = state;
    for (auto [d, axes] : llvm::enumerate(target.dims)) {
      AxisList reduced = axes;
      llvm::erase_if(reduced, [&](AxisId axis) {
        return !llvm::is_contained(state.partial, axis);
      });
      append(next, d, reduced);
      for (AxisId axis : reduced)
        erase(next.partial, axis);
    }
    emit(StepKind::ReduceScatter, next);
  }

  /// Axes of `dim` that stand elsewhere in the target, by target dimension in
  /// the order of the target's list.
  SmallVector<AxisMove> movesFrom(int64_t dim) const {
    SmallVector<AxisMove> moves;
    for (auto [to, axes] : llvm::enumerate(target.dims)) {
      AxisMove move{{}, dim, static_cast<int64_t>(to)};
      for (AxisId axis : axes)
        if (move.targetDim != dim && llvm::is_contained(state.dims[dim], axis))
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
    emit(StepKind::CollectivePermute, next);
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
      emit(StepKind::AllToAll, next);
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
      llvm::erase_if(ordered, [&](AxisId axis) {
        return !llvm::is_contained(axes, axis);
      });
      for (AxisId axis : axes)
        if (!llvm::is_contained(ordered, axis))
          ordered.push_back(axis);
      axes = ordered;
    }
    emit(StepKind::CollectivePermute, next);
  }

  void allReduce() {
    Sharding next = state;
    next.partial = target.partial;
    emit(StepKind::AllReduce, next);
  }

  void allGather() {
    Sharding next = state;
    for (auto [d, axes] : llvm::enumerate(target.dims)) {
      checkNesting(d, axes, ArrayRef(state.dims[d]).drop_front(axes.size()));
      next.dims[d] = axes;
    }
    emit(StepKind::AllGather, next);
  }

  ArrayRef<int64_t> shape;
  const Sharding &source, &target;
  const Mesh &mesh;
  Sharding state;
  ReshardPlan plan;
  bool blocksAlwaysNest = true;
};

} // namespace

std::optional<ReshardPlan> shoal::planCollectives(ArrayRef<int64_t> shape,
                                                  const Sharding &source,
                                                  const Sharding &target,
                                                  const Mesh &mesh) {
  return Planner(shape, source, target, mesh).run();
}
