// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CostTables.h"
#include "Keys.h"
#include "Known.h"
#include "OpKeys.h"
#include "shoal/Sharding/ManualAxes.h"
#include "shoal/Sharding/ReshardCost.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace shoal;
using namespace shoal::assignment;

using Problem = AssignmentProblem;

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// Whether an annotation splits a dimension into more shards than it has rows.
/// Ops choose such splits only where one asked for them.
static bool asksForEmptyShards(const Problem &problem) {
  return llvm::any_of(problem.ops, [&](const Problem::Op &op) {
    if (!op.constraint)
      return false;
    unsigned value = op.results.empty() ? op.operands[0] : op.results[0];
    return llvm::any_of(
        llvm::zip_equal(op.constraint->dims, problem.values[value].shape),
        [&](const auto &pair) {
          const auto &[dim, size] = pair;
          return problem.mesh.sizeOf(dim.axes) > std::max<int64_t>(size, 1);
        });
  });
}

/// Whether an annotation asks for a value as addends.
static bool asksForPartialValues(const Problem &problem) {
  return llvm::any_of(problem.ops, [](const Problem::Op &op) {
    return (op.constraint && !op.constraint->partial.empty()) ||
           (op.boundary && !op.boundary->partial.empty());
  });
}

/// The mesh in each order of the devices.
static std::vector<Mesh> meshesOf(const Problem &problem) {
  std::vector<Mesh> meshes(std::max<size_t>(problem.deviceOrders.size(), 1),
                           problem.mesh);
  for (auto [order, mesh] : llvm::zip(problem.deviceOrders, meshes))
    mesh.deviceIds = order;
  return meshes;
}

/// The axes that split an operand of the op by the hints, ascending.
static AxisList axesOfOperands(const Problem &problem, const Problem::Op &op,
                               const Hints *hints) {
  AxisList axes;
  if (!hints)
    return axes;
  for (AxisId axis = 0; axis < problem.mesh.axes.size(); ++axis)
    if (llvm::any_of(op.operands, [&](unsigned value) {
          return hints->at(value, axis).state == AxisHint::Split;
        }))
      axes.push_back(axis);
  return axes;
}

CostTables::CostTables(const Problem &problem, const AssignmentOptions &options,
                       const AxisList &axisOrder, const Hints *hints)
    : problem(problem), options(options),
      emptyShards(asksForEmptyShards(problem)),
      partialValues(asksForPartialValues(problem)),
      flopsPerByte(options.flopsPerByte), meshes(meshesOf(problem)),
      valueClasses(findValueClasses(problem)), known(std::make_unique<Known>()),
      knownCosts(&known->costs[flopsPerByte]) {
  if (options.cluster)
    times.emplace(*options.cluster);
  std::vector<const Problem::Op *> makers(problem.values.size(), nullptr);
  for (const Problem::Op &op : problem.ops)
    for (unsigned value : op.results)
      makers[value] = &op;
  llvm::StringMap<unsigned> ids;
  for (auto [id, op] : llvm::enumerate(problem.ops)) {
    std::string key;
    // An op with a constraint is a class of its own.
    addToKey(op.constraint ? int64_t(id) : -1, key);
    addOpKey(op, valueClasses, key);
    std::vector<AxisList> orders = axisOrdersOf(
        op, op.operands.empty() ? nullptr : makers[op.operands[0]], axisOrder);
    for (const AxisList &order : orders)
      addListToKey(order, key);
    AxisList hinted = axesOfOperands(problem, op, hints);
    addListToKey(hinted, key);
    auto [it, isNew] = ids.try_emplace(key, ids.size());
    if (isNew)
      classes.push_back(std::make_unique<OpClass>(problem, op, emptyShards,
                                                  std::move(orders), hinted));
    opClasses.push_back(it->second);
  }
  findKinds();
}

CostTables::~CostTables() = default;

void CostTables::findKinds() {
  llvm::StringMap<unsigned> ids;
  for (auto [id, op] : llvm::enumerate(problem.ops)) {
    llvm::SmallVector<unsigned, 4> distinct;
    std::string key;
    addToKey(opClasses[id], key);
    for (unsigned value :
         llvm::concat<const unsigned>(op.operands, op.results)) {
      auto *found = llvm::find(distinct, value);
      addToKey(uint32_t(found - distinct.begin()), key);
      if (found == distinct.end())
        distinct.push_back(value);
    }
    kinds.push_back(ids.try_emplace(key, ids.size()).first->second);
  }
}

void CostTables::setFlopsPerByte(double value) {
  flopsPerByte = value;
  knownCosts = &known->costs[value];
  for (auto &opClass : classes)
    for (auto &entry : opClass->choices)
      if (Choice *choice = entry.second.get())
        choice->compute =
            opClass->op.weight * (choice->pricedFlops / flopsPerByte);
}

/// What Sharding says of itself: no axis stands twice, partial ones ascend.
[[maybe_unused]] static bool isLegal(const Sharding &sharding) {
  AxisList all = sharding.partial;
  for (const AxisList &dim : sharding.dims)
    all.append(dim);
  llvm::sort(all);
  return llvm::adjacent_find(all) == all.end() &&
         llvm::is_sorted(sharding.partial);
}

LayoutId CostTables::intern(const Layout &layout) {
  assert(isLegal(layout.sharding) && "a search goes through legal shardings");
  std::string key;
  addToKey(layout.deviceOrder, key);
  for (const AxisList &dim : layout.sharding.dims)
    addListToKey(dim, key);
  addListToKey(layout.sharding.partial, key);
  auto [it, isNew] = layoutIds.try_emplace(key, layouts.size());
  if (!isNew)
    return it->second;
  layouts.push_back(layout);
  llvm::SmallVector<int, 4> &where =
      locations.emplace_back(problem.mesh.axes.size(), Nowhere);
  for (auto [d, dim] : llvm::enumerate(layout.sharding.dims))
    for (AxisId axis : dim)
      where[axis] = d;
  for (AxisId axis : layout.sharding.partial)
    where[axis] = Partial;
  return it->second;
}

//===----------------------------------------------------------------------===//
// Reshards
//===----------------------------------------------------------------------===//
//
// The price of a reshard of a value that is made `weight` times:
//
//        before -> after                              price
//   (R1) a layout -> itself                           0
//   (R2) [{"x"}] -> [{}] partial over "x": rows of    kForbidden, but where an
//        each become addends of all                   annotation asks for
//                                                     partial values
//   (R3) nothing is sent, as [{}] -> [{"x"}]          0
//   (R4) else                                         weight x (bytes + latency
//                                                     in bytes + operations
//                                                     that this brings)
//
// The bytes are those of the tensor with a leading dimension for the manual
// axes around it, whose devices have values of their own: of the plan that
// planReshard makes, or the bound, as the options say.

/// (R2) does not hold.
static bool canReshard(const Sharding &source, const Sharding &target) {
  return llvm::all_of(target.partial, [&](AxisId axis) {
    return llvm::none_of(source.dims, [&](const AxisList &dim) {
      return llvm::is_contained(dim, axis);
    });
  });
}

Resharded CostTables::withManualDims(unsigned value, LayoutId from,
                                     LayoutId to) const {
  const Problem::Value &type = problem.values[value];
  const Layout &source = layouts[from], &target = layouts[to];
  bool isReordered = source.deviceOrder != target.deviceOrder;
  return {withManualDim(type.shape, type.manualAxes, problem.mesh),
          type.elementBytes,
          withManualDim(source.sharding, type.manualAxes),
          withManualDim(target.sharding, type.manualAxes),
          &meshes[source.deviceOrder],
          isReordered ? &meshes[target.deviceOrder] : nullptr};
}

double CostTables::reshardBytesOf(unsigned value, LayoutId from,
                                  LayoutId to) const {
  if (from == to)
    return 0;
  const auto &[shape, elementBytes, source, target, mesh, targetMesh] =
      withManualDims(value, from, to);
  if (!options.pricePlans)
    return reshardBytes(shape, elementBytes, source, target, problem.mesh,
                        targetMesh != nullptr);
  return plannedBytes(shape, elementBytes, source, target, *mesh, targetMesh);
}

CostTables::SendingPrice CostTables::sendingPrice(unsigned value, LayoutId from,
                                                  LayoutId to) const {
  if (times)
    return {times->reshard(withManualDims(value, from, to)), 0};
  double bytes = reshardBytesOf(value, from, to);
  return {bytes, bytes > 0 ? options.latencyBytes : 0}; // (R3)
}

double CostTables::reshard(unsigned value, LayoutId from, LayoutId to) {
  if (from == to) // (R1)
    return 0;
  assert(from < (1u << 22) && to < (1u << 22) &&
         valueClasses[value] < (1u << 20) && "the key would overflow");
  uint64_t key =
      uint64_t(valueClasses[value]) << 44 | uint64_t(from) << 22 | to;
  auto [price, isNew] = reshards.try_emplace(key, kForbidden); // (R2)
  if (isNew && (partialValues ||
                canReshard(layouts[from].sharding, layouts[to].sharding))) {
    SendingPrice each = sendingPrice(value, from, to);
    price->second =
        problem.values[value].weight * (each.bytes + each.latency); // (R4)
  }
  bool isSent = price->second > 0 && price->second != kForbidden;
  return isSent ? price->second + computeIfSent(value) : price->second;
}

double CostTables::computeIfSent(unsigned value) const {
  const Problem::Value &type = problem.values[value];
  return type.weight * type.flopsIfSent / problem.mesh.numDevices() /
         flopsPerByte;
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//
//
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
  auto [it, isNew] = opClass.choices.try_emplace(index);
  if (isNew)
    it->second = resolve(opClass, index);
  return it->second.get();
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

/// (C3), of what (C2) gives.
static std::optional<OpShardings>
addManualAxes(const Problem::Op &op, OpShardings shardings, const Mesh &mesh) {
  Sharding &outer =
      op.boundary->isEntry ? shardings.operands[0] : shardings.results[0];
  for (auto [factor, dim, manual] :
       llvm::zip_equal(op.rule.factors, outer.dims, op.boundary->axes)) {
    if (!manual.empty() && factor.size % mesh.sizeOf(dim) != 0)
      return std::nullopt;
    dim.insert(dim.begin(), manual.begin(), manual.end());
  }
  llvm::append_range(outer.partial, op.boundary->partial);
  llvm::sort(outer.partial);
  return shardings;
}

std::optional<OpShardings>
CostTables::shardingsOf(const OpClass &opClass,
                        const FactorSharding &choice) const {
  const Problem::Op &op = opClass.op;
  if (!op.constraint) { // (C1)
    if (!emptyShards &&
        leavesDevicesIdle(opClass.rowsOfFactor, choice, problem.mesh))
      return std::nullopt;
    return applyChoice(op.rule, choice, problem.mesh);
  }
  Sharding sharding; // (C2)
  sharding.dims.assign(choice.axes.begin(), choice.axes.end());
  sharding.partial = op.constraint->partial;
  OpShardings shardings;
  shardings.operands.assign(op.operands.size(), sharding);
  shardings.results.assign(op.results.size(), sharding);
  if (op.boundary)
    return addManualAxes(op, std::move(shardings), problem.mesh);
  return shardings;
}

std::unique_ptr<Choice> CostTables::resolve(OpClass &opClass,
                                            ChoiceIndex index) {
  const Problem::Op &op = opClass.op;
  auto choice = std::make_unique<Choice>();
  choice->sharding.axes.resize(op.rule.factors.size());
  if (op.constraint) {
    choice->sharding.axes.resize(op.constraint->dims.size());
    for (auto [d, dim] : llvm::enumerate(op.constraint->dims))
      choice->sharding.axes[d] = dim.axes;
  }
  for (AxisId axis : opClass.axisOrder(index)) {
    const Label &label = opClass.label(index, axis);
    if (label.kind == Label::Factor)
      choice->sharding.axes[label.index].push_back(axis);
    else if (label.kind == Label::Pass)
      choice->sharding.passes.push_back({axis, label.index});
  }
  llvm::sort(choice->sharding.passes,
             [](auto &a, auto &b) { return a.axis < b.axis; });
  std::optional<OpShardings> shardings = shardingsOf(opClass, choice->sharding);
  if (!shardings)
    return nullptr;
  for (const Sharding &sharding : shardings->operands)
    choice->operands.push_back(intern({sharding, op.deviceOrder}));
  for (const Sharding &sharding : shardings->results)
    choice->results.push_back(intern({sharding, op.deviceOrder}));
  price(opClass, *shardings, *choice);
  return choice;
}

/// Of what a device does, the part that others do too, although the hints split
/// the op over all of them.
static double repeatedPart(int64_t devices, int64_t hinted) {
  return devices < hinted ? 1 - double(devices) / hinted : 0;
}

void CostTables::price(const OpClass &opClass, const OpShardings &shardings,
                       Choice &choice) const {
  const Problem::Op &op = opClass.op;
  double share = 1;
  int64_t devices = 1;
  for (auto [i, axes] : llvm::enumerate(choice.sharding.axes)) {
    const Factor &factor = op.rule.factors[i];
    int64_t shards = problem.mesh.sizeOf(axes);
    devices *= shards;
    if (factor.size > 0 && !llvm::is_contained(op.unsharedFactors, i))
      share *= double(shardSize(factor.size, shards)) / factor.size;
  }
  choice.flops = op.rule.flops * share;
  // Addends of a sum that pass through differ from device to device.
  for (const FactorSharding::Pass &pass : choice.sharding.passes)
    devices *= problem.mesh.axes[pass.axis].size;
  choice.repeatFactor = (options.repeatMargin - 1) *
                        repeatedPart(devices, opClass.numHintedDevices());
  priceWork(op, shardings, choice);
  choice.reductions = priceExchange(op, choice.sharding);
  for (double *part : {&choice.compute, &choice.memory, &choice.reductions})
    *part *= op.weight;
}

/// What is read or written in the end whatever the choice: ties are broken by
/// what is written, where that costs nothing else.
constexpr double kTieBreak = 0.002;

void CostTables::priceWork(const Problem::Op &op, const OpShardings &shardings,
                           Choice &choice) const {
  auto bytesOf = [&](auto values, llvm::ArrayRef<Sharding> shards) {
    double bytes = 0;
    for (auto [value, sharding] : llvm::zip_equal(values, shards)) {
      const Problem::Value &type = problem.values[value];
      bytes +=
          localBytes(type.shape, type.elementBytes, sharding, problem.mesh);
    }
    return bytes;
  };
  // A loop that makes a row a trip does not make all rows in each.
  double written = op.rule.written
                       ? bytesOf(llvm::ArrayRef(op.operands[*op.rule.written]),
                                 shardings.operands[*op.rule.written])
                       : bytesOf(llvm::ArrayRef(op.results), shardings.results);
  choice.pricedFlops = choice.flops;
  choice.memory = options.memoryWeight * written;
  if (times) {
    double read = bytesOf(llvm::ArrayRef(op.operands), shardings.operands);
    std::optional<double> product = times->product(
        op, choice.sharding, meshes[op.deviceOrder], read + written);
    if (product)
      choice.pricedFlops = *product * options.flopsPerByte;
    // A product's time has its memory's; and what sums over nothing is part of
    // the kernel that reads it.
    if (product || op.rule.isParallel())
      choice.memory *= kTieBreak;
  }
  choice.compute = choice.pricedFlops / flopsPerByte;
}

double CostTables::priceExchange(const Problem::Op &op,
                                 const FactorSharding &choice) const {
  auto sizesOf = [&](llvm::ArrayRef<unsigned> values) {
    return llvm::map_to_vector(values, [&](unsigned value) -> TensorSize {
      const Problem::Value &type = problem.values[value];
      return {type.shape, type.elementBytes};
    });
  };
  double bytes = exchangedBytes(op.rule, choice, sizesOf(op.operands),
                                sizesOf(op.results), problem.mesh);
  return times ? times->exchange(choice, meshes[op.deviceOrder], bytes) : bytes;
}
