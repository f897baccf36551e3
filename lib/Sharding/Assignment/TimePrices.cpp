// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TimePrices.h"
#include "../StepCost.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace shoal;
using namespace shoal::assignment;

void shoal::priceOn(const Cluster &cluster, AssignmentOptions &options) {
  const Chip &chip = cluster.chip;
  options.cluster = &cluster;
  // A chip for which no rate is known is bound by its memory.
  constexpr double kFree = 1e30;
  options.flopsPerByte =
      chip.elementwiseFlops > 0 ? chip.elementwiseFlops * 1e-9 : kFree;
  options.memoryWeight = 1e9 / (chip.memoryBandwidth * chip.memoryEfficiency);
  options.repeatMargin = 1;
  options.latencyBytes = 0;
}

static double inNanoseconds(const Price &price) { return price.time * 1e-3; }

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Row-major: an axis has the devices of those behind it in each of its own.
static llvm::SmallVector<AxisSpan> spansOf(const AxisList &axes,
                                           const Mesh &mesh) {
  return llvm::map_to_vector(axes, [&](AxisId axis) {
    AxisSpan span{mesh.axes[axis].size, 1};
    for (const MeshAxis &inner : llvm::drop_begin(mesh.axes, axis + 1))
      span.stride *= inner.size;
    return span;
  });
}

/// Where groups differ in how they lie, as if all members were as far apart as
/// the cluster is wide.
static GroupCounts countGroup(const Cluster &cluster, const AxisList &axes,
                              const Mesh &mesh) {
  support::Result<GroupCounts> counts =
      countMembers(cluster, spansOf(axes, mesh), mesh.deviceIds);
  if (counts)
    return *counts;
  GroupCounts apart(cluster.levels.size(), 1);
  apart.back() = mesh.sizeOf(axes);
  return apart;
}

double TimePrices::priceGroup(CollectiveKind kind, const AxisList &axes,
                              const Mesh &mesh, double bytes) const {
  if (bytes <= 0 || mesh.sizeOf(axes) == 1)
    return 0;
  return inNanoseconds(priceCollective(cluster, kind,
                                       countGroup(cluster, axes, mesh),
                                       std::llround(std::ceil(bytes))));
}

//===----------------------------------------------------------------------===//
// Reshards
//===----------------------------------------------------------------------===//

/// The step's collective; nothing of a step that sends nothing.
static std::optional<CollectiveKind> kindOf(StepKind step) {
  switch (step) {
  case StepKind::Slice:
  case StepKind::ToPartial:
  case StepKind::Relabel:
  case StepKind::Reshape:
    return std::nullopt;
  case StepKind::ReduceScatter:
    return CollectiveKind::ReduceScatter;
  case StepKind::AllToAll:
    return CollectiveKind::AllToAll;
  case StepKind::AllReduce:
    return CollectiveKind::AllReduce;
  case StepKind::AllGather:
    return CollectiveKind::AllGather;
  case StepKind::CollectivePermute:
  case StepKind::Exchange:
    return CollectiveKind::Permute;
  }
  llvm_unreachable("all kinds are listed");
}

/// The axes of the groups that send to each other: those whose place in a
/// sharding is not the same in the other. Another order of the devices may send
/// from any of them to any.
static AxisList listMoved(const VisitedStep &step, const Mesh &mesh) {
  // A dimension, one more for addends, and the place in the list.
  auto placeIn = [](const Sharding &sharding, AxisId axis) {
    std::pair<int, int> place(-1, -1);
    auto look = [&](const AxisList &list, int dim) {
      if (auto *found = llvm::find(list, axis); found != list.end())
        place = {dim,
                 dim < int(sharding.dims.size()) ? found - list.begin() : 0};
    };
    for (auto [dim, list] : llvm::enumerate(sharding.dims))
      look(list, dim);
    look(sharding.partial, sharding.dims.size());
    return place;
  };
  AxisList moved;
  for (AxisId axis = 0; axis < mesh.axes.size(); ++axis)
    if (step.isReordered ||
        placeIn(step.before, axis) != placeIn(step.after, axis))
      moved.push_back(axis);
  return moved;
}

double TimePrices::reshard(const Resharded &value) const {
  const auto &[shape, elementBytes, source, target, mesh, targetMesh] = value;
  double time = 0;
  visitSteps({shape, *mesh, targetMesh}, source,
             planReshard(shape, source, target, *mesh, targetMesh),
             [&](const VisitedStep &step) {
               if (std::optional<CollectiveKind> kind = kindOf(step.kind))
                 time += priceGroup(*kind, listMoved(step, *mesh), *mesh,
                                    elementBytes * step.elements);
             });
  return time;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

std::optional<double> TimePrices::product(const AssignmentProblem::Op &op,
                                          const FactorSharding &choice,
                                          const Mesh &mesh,
                                          double bytes) const {
  const FactorRule &rule = op.rule;
  if (rule.operands.size() < 2 || rule.linearIn.size() < 2 || rule.flops == 0)
    return std::nullopt;
  auto isIn = [](const DimFactors &dims, unsigned factor) {
    return llvm::any_of(
        dims, [&](const auto &dim) { return llvm::is_contained(dim, factor); });
  };
  ProductShape shape;
  for (auto [i, factor] : llvm::enumerate(rule.factors)) {
    bool inLhs = isIn(rule.operands[0], i), inRhs = isIn(rule.operands[1], i);
    int64_t &size = !isIn(rule.results[0], i) ? shape.k
                    : inLhs && inRhs          ? shape.batch
                    : inLhs                   ? shape.m
                                              : shape.n;
    size *= shardSize(factor.size, mesh.sizeOf(choice.axes[i]));
  }
  // Where a rule's operations are not those of its factors, as of groups of
  // rows, each of which meets one of the matrices.
  double whole = 2;
  for (const Factor &factor : rule.factors)
    whole *= factor.size;
  double time = inNanoseconds(
      priceProduct(cluster.chip, op.elementType, shape, std::llround(bytes)));
  return whole > 0 ? time * std::min(1.0, rule.flops / whole) : 0;
}

double TimePrices::exchange(const FactorSharding &choice, const Mesh &mesh,
                            double bytes) const {
  AxisList axes;
  for (const AxisList &list : choice.axes)
    axes.append(list);
  llvm::sort(axes);
  return priceGroup(CollectiveKind::Permute, axes, mesh, bytes);
}
