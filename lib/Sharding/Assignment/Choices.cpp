// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../SplitParts.h"
#include "CostTables.h"
#include "shoal/Sharding/ReshardCost.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace shoal;
using namespace shoal::assignment;

using Problem = AssignmentProblem;

// The shardings that the labels of all axes give an op, the axes of a dimension
// in the choice's order:
//
//        the op                   its operands and results
//   (C1) without constraint       those that the rule makes of the split
//                                 factors; none where a factor has more shards
//                                 than rows anywhere (rowsOfFactor) and no
//                                 annotation asked for that
//   (C2) with a constraint        all alike: its axes, then the labels', and
//                                 partial over its partial axes
//   (C3) between a value and its  as (C2), but outside behind the manual axes:
//        shards in a region       [{"x"}] inside -> [{"m", "x"}] outside, or
//                                 partial over "m" there; none where the blocks
//                                 would differ

const Choice *CostTables::choice(unsigned op, ChoiceIndex index) {
  OpClass &opClass = classOf(op);
  auto [it, isNew] = opClass.choices.try_emplace(index, nullptr);
  if (isNew)
    it->second = resolve(opClass, index);
  return it->second;
}

FactorSharding OpClass::split(ChoiceIndex index) const {
  return split(orderOf(index), labelNumbers(index));
}

FactorSharding OpClass::split(ChoiceIndex order,
                              llvm::ArrayRef<unsigned> numbers) const {
  FactorSharding split;
  split.axes.resize(op.rule.factors.size());
  if (op.constraint)
    for (auto [own, dim] : llvm::zip_equal(split.axes, op.constraint->dims))
      own = dim.axes;
  for (AxisId axis : axisOrders[order]) {
    const Label &own = labels[axis][numbers[axis]];
    if (own.kind == Label::Factor)
      split.axes[own.index].push_back(axis);
    else if (own.kind == Label::Pass)
      split.passes.push_back({axis, own.index});
  }
  llvm::sort(split.passes, [](auto &a, auto &b) { return a.axis < b.axis; });
  return split;
}

/// Whether a factor has more shards than `rows` says it may.
static bool leavesDevicesIdle(llvm::ArrayRef<int64_t> rowsOfFactor,
                              const FactorSharding &choice, const Mesh &mesh) {
  return llvm::any_of(llvm::zip_equal(rowsOfFactor, choice.axes),
                      [&](const auto &pair) {
                        const auto &[rows, axes] = pair;
                        return !axes.empty() && mesh.sizeOf(axes) > rows;
                      });
}

bool CostTables::isAllowed(const OpClass &opClass,
                           const FactorSharding &split) const {
  return opClass.op.constraint ||
         ((emptyShards ||
           !leavesDevicesIdle(opClass.rowsOfFactor, split, problem.mesh)) &&
          factorsAllow(opClass.op.rule, split, problem.mesh));
}

/// (C3), of what (C2) gives.
static std::optional<Sharding> addManualAxes(const Problem::Op &op,
                                             Sharding outer, const Mesh &mesh) {
  for (auto [factor, dim, manual] :
       llvm::zip_equal(op.rule.factors, outer.dims, op.boundary->axes)) {
    if (!manual.empty() && factor.size % mesh.sizeOf(dim) != 0)
      return std::nullopt;
    dim.insert(dim.begin(), manual.begin(), manual.end());
  }
  llvm::append_range(outer.partial, op.boundary->partial);
  llvm::sort(outer.partial);
  return outer;
}

std::optional<Sharding> CostTables::shardingAt(const OpClass &opClass,
                                               const FactorSharding &split,
                                               size_t place) const {
  const Problem::Op &op = opClass.op;
  size_t operands = op.operands.size();
  if (!op.constraint) // (C1)
    return place < operands
               ? operandSharding(op.rule, split, place, problem.mesh)
               : resultSharding(op.rule, split, place - operands, problem.mesh);
  Sharding sharding; // (C2)
  sharding.dims.assign(split.axes.begin(), split.axes.end());
  sharding.partial = op.constraint->partial;
  if (op.boundary && place == (op.boundary->isEntry ? 0 : operands))
    return addManualAxes(op, std::move(sharding), problem.mesh);
  return sharding;
}

/// False where the op's rule does not allow it: no layout is interned for that,
/// so that layouts are numbered in the order in which choices have them.
bool CostTables::layOut(OpClass &opClass, ChoiceIndex order,
                        llvm::ArrayRef<unsigned> labels,
                        const FactorSharding &split, Laid &laid) {
  struct Fresh {
    ChoicePlace::Laid *laid;
    unsigned value;
    std::optional<Sharding> sharding;
  };
  llvm::SmallVector<Fresh, 2> fresh;
  const Problem::Op &op = opClass.op;
  ChoiceIndex ofOrder = order * (opClass.total / opClass.axisOrders.size());
  for (auto [i, value] :
       llvm::enumerate(llvm::concat<const unsigned>(op.operands, op.results))) {
    ChoicePlace &place = opClass.places[opClass.placeOf[i]];
    ChoiceIndex seen = ofOrder;
    for (auto [added, label] : llvm::zip_equal(place.seen, labels))
      seen += added[label];
    ChoicePlace::Laid &own = place.laid[seen];
    laid.push_back(&own);
    if (own.state == ChoicePlace::Laid::Unknown &&
        llvm::none_of(fresh,
                      [&](const Fresh &other) { return other.laid == &own; })) {
      fresh.push_back({&own, value, shardingAt(opClass, split, i)});
      if (!fresh.back().sharding)
        own.state = ChoicePlace::Laid::Impossible;
    }
    if (own.state == ChoicePlace::Laid::Impossible)
      return false;
  }
  for (const auto &[own, value, sharding] : fresh) {
    const Problem::Value &type = problem.values[value];
    *own = {ChoicePlace::Laid::Known, intern(*sharding, op.deviceOrder),
            double(localBytes(type.shape, type.elementBytes, *sharding,
                              problem.mesh))};
  }
  return true;
}

Choice *CostTables::resolve(OpClass &opClass, ChoiceIndex index) {
  ChoiceIndex order = opClass.orderOf(index);
  OpClass::LabelNumbers labels = opClass.labelNumbers(index);
  FactorSharding split = opClass.split(order, labels);
  Laid laid;
  if (!isAllowed(opClass, split) ||
      !layOut(opClass, order, labels, split, laid))
    return nullptr;
  llvm::MutableArrayRef<LayoutId> layouts(
      storage.Allocate<LayoutId>(laid.size()), laid.size());
  for (auto [layout, own] : llvm::zip_equal(layouts, laid))
    layout = own->layout;
  size_t operands = opClass.op.operands.size();
  auto *choice = new (storage.Allocate<Choice>())
      Choice{index, layouts.take_front(operands), layouts.drop_front(operands)};
  price(opClass, split, laid, *choice);
  return choice;
}

/// Of what a device does, the part that others do too, although the hints split
/// the op over all of them.
static double repeatedPart(int64_t devices, int64_t hinted) {
  return devices < hinted ? 1 - double(devices) / hinted : 0;
}

void CostTables::price(const OpClass &opClass, const FactorSharding &split,
                       const Laid &laid, Choice &choice) const {
  const Problem::Op &op = opClass.op;
  double share = 1;
  int64_t devices = 1;
  for (auto [i, axes] : llvm::enumerate(split.axes)) {
    const Factor &factor = op.rule.factors[i];
    int64_t shards = problem.mesh.sizeOf(axes);
    devices *= shards;
    if (factor.size > 0 && !llvm::is_contained(op.unsharedFactors, i))
      share *= double(shardSize(factor.size, shards)) / factor.size;
  }
  choice.flops = op.rule.flops * share;
  // Addends of a sum that pass through differ from device to device.
  for (const FactorSharding::Pass &pass : split.passes)
    devices *= problem.mesh.axes[pass.axis].size;
  choice.repeatFactor = (options.repeatMargin - 1) *
                        repeatedPart(devices, opClass.numHintedDevices());
  priceWork(op, split, laid, choice);
  choice.exchanged = countExchanged(op, split);
  choice.reductions = choice.exchanged;
  if (times)
    choice.reductions =
        times->exchange(split, meshes[op.deviceOrder], choice.exchanged);
  choice.reductions *= op.exchangeWeight;
  if (op.isHeld) // of the result, or as its reader gets it
    choice.held = options.heldWeight *
                  laid[op.results.empty() ? 0 : op.operands.size()]->bytes;
  for (double *part : {&choice.compute, &choice.memory, &choice.reductions})
    *part *= op.weight;
}

/// What is read or written in the end whatever the choice: ties are broken by
/// what is written, where that costs nothing else.
constexpr double kTieBreak = 0.002;

void CostTables::priceWork(const Problem::Op &op, const FactorSharding &split,
                           const Laid &laid, Choice &choice) const {
  auto bytesOf = [](llvm::ArrayRef<ChoicePlace::Laid *> places) {
    double bytes = 0;
    for (const ChoicePlace::Laid *place : places)
      bytes += place->bytes;
    return bytes;
  };
  llvm::ArrayRef<ChoicePlace::Laid *> all(laid);
  size_t operands = op.operands.size();
  // A loop that makes a row a trip does not make all rows in each.
  double written = op.rule.written ? laid[*op.rule.written]->bytes
                                   : bytesOf(all.drop_front(operands));
  choice.pricedFlops = choice.flops;
  choice.memory = options.memoryWeight * written;
  if (times) {
    double read = bytesOf(all.take_front(operands));
    std::optional<double> product =
        times->product(op, split, meshes[op.deviceOrder], read + written);
    if (product)
      choice.pricedFlops = *product * options.flopsPerByte;
    // A product's time has its memory's; and what sums over nothing is part of
    // the kernel that reads it.
    if (product || op.rule.isParallel())
      choice.memory *= kTieBreak;
  }
  choice.compute = choice.pricedFlops / flopsPerByte;
}

double CostTables::countExchanged(const Problem::Op &op,
                                  const FactorSharding &split) const {
  auto sizesOf = [&](llvm::ArrayRef<unsigned> values) {
    return llvm::map_to_vector(values, [&](unsigned value) -> TensorSize {
      const Problem::Value &type = problem.values[value];
      return {type.shape, type.elementBytes};
    });
  };
  return exchangedBytes(op.rule, split, sizesOf(op.operands),
                        sizesOf(op.results), problem.mesh);
}
