// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TimePrices.h"
#include "../ScatterPlacement.h"
#include "../StepCost.h"
#include "Keys.h"
#include "shoal/Sharding/ReshardCost.h"
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

static double priceCounted(const Cluster &cluster, CollectiveKind kind,
                           const GroupCounts &counts, double bytes) {
  return inNanoseconds(
      priceCollective(cluster, kind, counts, wholeBytes(bytes, 1)));
}

double TimePrices::priceGroup(CollectiveKind kind, const AxisList &axes,
                              const Mesh &mesh, double bytes) const {
  if (bytes <= 0 || mesh.sizeOf(axes) == 1)
    return 0;
  return priceCounted(cluster, kind, countGroup(cluster, axes, mesh), bytes);
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

namespace {
/// A reshard with the same plan, of a tensor of which each step sends the same
/// share. Where all devices divide a dimension, all blocks on the way are even,
/// so of its length nothing but that matters. On p devices:
///
///        a dimension of n rows                     here
///   (A1) p does not divide n                       n
///   (A2) p divides n                               p; the first of these p *
///   p,
///                                                  as copies share what is
///                                                  asked of a block by
///                                                  elements
///   (A3) where nothing is summed: split at both    none: nothing of it moves
///        ends alike, if p divides n or by nothing
///   (A4) where something is: split at neither end, none: what is scattered
///        behind such a one that p divides          finds room there first
struct AlikeReshard {
  Resharded value;
  /// Elements of the given tensor for each of this one.
  double scale = 1;

  std::string key() const {
    std::string key;
    addListToKey(value.shape, key);
    for (const Sharding *end : {&value.source, &value.target}) {
      for (const AxisList &axes : end->dims)
        addListToKey(axes, key);
      addListToKey(end->partial, key);
    }
    return key;
  }
};
} // namespace

/// Nothing where devices have an order of their own, or numbers would overflow.
static std::optional<AlikeReshard> findAlike(const Resharded &given) {
  constexpr double kMostElements = 1e15;
  if (given.targetMesh || !given.mesh->deviceIds.empty())
    return std::nullopt;
  const int64_t devices = given.mesh->numDevices();
  const bool isSummed = llvm::any_of(given.source.partial, [&](AxisId axis) {
    return !llvm::is_contained(given.target.partial, axis);
  });
  AlikeReshard alike;
  Resharded &value = alike.value;
  value.elementBytes = given.elementBytes;
  value.mesh = given.mesh;
  value.source.partial = given.source.partial;
  value.target.partial = given.target.partial;
  double elements = 1;
  int64_t dropped = 1;
  bool isFirst = true;
  // Whether sums find room in front of dimensions that nothing splits.
  bool isRoom = false;
  const bool triesAll =
      triesAllPlaces(given.shape.size(), given.mesh->axes.size());
  for (auto [size, before, after] :
       llvm::zip_equal(given.shape, given.source.dims, given.target.dims)) {
    bool isEven = size > 0 && size % devices == 0;
    bool isUnsplit = before.empty() && after.empty();
    bool isKept = isSummed ? !isUnsplit || !isRoom || !triesAll          // (A4)
                           : before != after || (!isEven && !isUnsplit); // (A3)
    isRoom |= isUnsplit && isEven;
    if (!isKept) {
      dropped *= shardSize(size, given.mesh->sizeOf(before));
      continue;
    }
    int64_t own = !isEven ? size : isFirst ? devices * devices : devices;
    isFirst &= !isEven;
    alike.scale *= isEven ? double(size) / own : 1;
    elements *= own;
    value.shape.push_back(own);
    value.source.dims.push_back(before);
    value.target.dims.push_back(after);
  }
  if (isFirst && dropped > 1) { // (A2)
    if (dropped % devices != 0)
      return std::nullopt;
    value.shape.push_back(devices * devices);
    value.source.dims.emplace_back();
    value.target.dims.emplace_back();
    alike.scale /= double(devices) * devices;
  }
  alike.scale *= dropped;
  if (elements > kMostElements)
    return std::nullopt;
  return alike;
}

SentSteps TimePrices::planSteps(const Resharded &value) const {
  const auto &[shape, elementBytes, source, target, mesh, targetMesh] = value;
  SentSteps steps;
  visitSteps({shape, *mesh, targetMesh}, source,
             planReshard(shape, source, target, *mesh, targetMesh),
             [&](const VisitedStep &step) {
               AxisList moved = listMoved(step, *mesh);
               std::optional<CollectiveKind> kind = kindOf(step.kind);
               if (kind && step.elements > 0 && mesh->sizeOf(moved) > 1)
                 steps.push_back(
                     {*kind, countGroup(cluster, moved, *mesh), step.elements});
             });
  return steps;
}

double TimePrices::priceSteps(const SentSteps &steps,
                              double elementBytes) const {
  double time = 0;
  for (const SentStep &step : steps)
    time += priceCounted(cluster, step.kind, step.group,
                         elementBytes * step.elements);
  return time;
}

double TimePrices::reshard(const Resharded &value,
                           llvm::StringMap<SentSteps> &known) const {
  std::optional<AlikeReshard> alike = findAlike(value);
  if (!alike)
    return priceSteps(planSteps(value), value.elementBytes);
  auto [steps, isNew] = known.try_emplace(alike->key());
  if (isNew)
    steps->second = planSteps(alike->value);
  return priceSteps(steps->second, value.elementBytes * alike->scale);
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
