// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CostTables.h"
#include "Keys.h"
#include "Known.h"
#include "shoal/Sharding/ManualAxes.h"
#include "shoal/Sharding/ReshardCost.h"
#include "shoal/Sharding/ReshardPrices.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include <cmath>

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
      valueClasses(findValueClasses(problem)),
      sent(options.reshardPrices ? options.reshardPrices->over(problem)
                                 : ownReshards),
      known(std::make_unique<Known>()),
      knownCosts(&known->costs[flopsPerByte]) {
  if (options.cluster)
    times.emplace(*options.cluster);
  for (const Problem::Value &value : problem.values) {
    std::string key;
    addShape(value, key);
    shapes.push_back(numberOfKey(key, sent.shapes));
    addToKey(value.elementBytes, key);
    types.push_back(numberOfKey(key, sent.types));
  }
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
      if (Choice *choice = entry.second)
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

LayoutId CostTables::intern(const Sharding &sharding, unsigned deviceOrder) {
  assert(isLegal(sharding) && "a search goes through legal shardings");
  constexpr size_t kMostBytes = 96; // but for a tensor of many dimensions
  std::string key;
  key.reserve(kMostBytes);
  addToKey(deviceOrder, key);
  for (const AxisList &dim : sharding.dims)
    addListToKey(dim, key);
  addListToKey(sharding.partial, key);
  auto [it, isNew] = ids.try_emplace(key, layouts.size());
  if (!isNew)
    return it->second;
  layouts.push_back({sharding, deviceOrder});
  numbers.push_back(numberOfKey(key, sent.layouts));
  llvm::SmallVector<int, 4> &where =
      locations.emplace_back(problem.mesh.axes.size(), Nowhere);
  for (auto [d, dim] : llvm::enumerate(sharding.dims))
    for (AxisId axis : dim)
      where[axis] = d;
  for (AxisId axis : sharding.partial)
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

static bool canReshard(const Sharding &source, const Sharding &target) {
  return llvm::all_of(target.partial, [&](AxisId axis) {
    return llvm::none_of(source.dims, [&](const AxisList &dim) {
      return llvm::is_contained(dim, axis);
    });
  });
}

template <typename Price>
double CostTables::priceReshard(unsigned value, LayoutId from, LayoutId to,
                                Price price) const {
  const Problem::Value &type = problem.values[value];
  const Layout &source = layout(from), &target = layout(to);
  const Mesh *mesh = &meshes[source.deviceOrder];
  const Mesh *targetMesh = source.deviceOrder != target.deviceOrder
                               ? &meshes[target.deviceOrder]
                               : nullptr;
  auto priceOf = [&](llvm::ArrayRef<int64_t> shape, const Sharding &source,
                     const Sharding &target) {
    return price(
        Resharded{shape, type.elementBytes, source, target, mesh, targetMesh});
  };
  if (type.manualAxes.empty())
    return priceOf(type.shape, source.sharding, target.sharding);
  return priceOf(withManualDim(type.shape, type.manualAxes, problem.mesh),
                 withManualDim(source.sharding, type.manualAxes),
                 withManualDim(target.sharding, type.manualAxes));
}

double CostTables::elementsOf(unsigned value, LayoutId from, LayoutId to,
                              bool byPlan) {
  auto [elements, isNew] =
      (byPlan ? sent.planned : sent.bounds)
          .try_emplace(reshardKey(shapes[value], numbers[from], numbers[to]));
  if (isNew)
    elements->second = priceReshard(value, from, to, [&](const Resharded &own) {
      return byPlan ? plannedElements(own.shape, own.source, own.target,
                                      *own.mesh, own.targetMesh)
                    : reshardBytes(own.shape, /*elementBytes=*/1, own.source,
                                   own.target, problem.mesh,
                                   own.targetMesh != nullptr);
    });
  return elements->second;
}

double CostTables::nanosecondsOf(unsigned value, LayoutId from, LayoutId to) {
  auto [time, isNew] = sent.times.try_emplace(
      reshardKey(types[value], numbers[from], numbers[to]));
  if (isNew)
    time->second = priceReshard(value, from, to, [&](const Resharded &own) {
      return times->reshard(own, sent.plans);
    });
  return time->second;
}

double CostTables::reshardBytesOf(unsigned value, LayoutId from, LayoutId to) {
  if (from == to)
    return 0;
  double elements = elementsOf(value, from, to, options.pricePlans);
  int64_t elementBytes = problem.values[value].elementBytes;
  return options.pricePlans ? wholeBytes(elements, elementBytes)
                            : elements * elementBytes;
}

CostTables::SendingPrice CostTables::sendingPrice(unsigned value, LayoutId from,
                                                  LayoutId to) {
  if (times)
    return {nanosecondsOf(value, from, to), 0};
  double bytes = reshardBytesOf(value, from, to);
  return {bytes, bytes > 0 ? options.latencyBytes : 0}; // (R3)
}

CostTables::KnownPrice &CostTables::knownPrice(unsigned value, LayoutId from,
                                               LayoutId to) {
  return reshards[reshardKey(valueClasses[value], from, to)];
}

/// (R2) does not hold.
bool CostTables::exists(LayoutId from, LayoutId to) const {
  return partialValues ||
         canReshard(layout(from).sharding, layout(to).sharding);
}

double CostTables::withCompute(unsigned value, double price) const {
  bool isSent = price > 0 && price != kForbidden;
  return isSent ? price + computeIfSent(value) : price;
}

double CostTables::reshard(unsigned value, LayoutId from, LayoutId to) {
  if (from == to) // (R1)
    return 0;
  double &price = knownPrice(value, from, to).exact;
  if (std::isnan(price)) {
    price = kForbidden; // (R2)
    if (exists(from, to)) {
      SendingPrice each = sendingPrice(value, from, to);
      price =
          problem.values[value].weight * (each.bytes + each.latency); // (R4)
    }
  }
  return withCompute(value, price);
}

double CostTables::leastReshard(unsigned value, LayoutId from, LayoutId to) {
  if (from == to || !plansReshards())
    return reshard(value, from, to);
  KnownPrice &known = knownPrice(value, from, to);
  if (!std::isnan(known.exact))
    return withCompute(value, known.exact);
  if (std::isnan(known.least)) {
    known.least = kForbidden;
    if (exists(from, to)) {
      const Problem::Value &type = problem.values[value];
      double bytes = elementsOf(value, from, to, /*byPlan=*/false) *
                     type.elementBytes * (1 - 1e-9);
      known.least =
          bytes > 0 ? type.weight * (bytes + options.latencyBytes) : 0;
    }
  }
  return withCompute(value, known.least);
}

double CostTables::computeIfSent(unsigned value) const {
  const Problem::Value &type = problem.values[value];
  if (type.flopsIfSent == 0) // of nearly all
    return 0;
  return type.weight * type.flopsIfSent / problem.mesh.numDevices() /
         flopsPerByte;
}
