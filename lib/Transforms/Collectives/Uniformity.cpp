// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Transforms/Collectives/Uniformity.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace shoal;
using spmd::CollectiveOpInterface;

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

/// The order that the ids list; the usual one has no list.
static SmallVector<int64_t> normalized(ArrayRef<int64_t> ids) {
  for (auto [position, id] : llvm::enumerate(ids))
    if (static_cast<int64_t>(position) != id)
      return SmallVector<int64_t>(ids);
  return {};
}

AxisSet Uniformity::all() const {
  AxisSet set = none();
  for (unsigned bit = 0; bit < set.size(); ++bit)
    if (mesh.axes[bit % mesh.axes.size()].size > 1)
      set.set(bit);
  return set;
}

/// Which of the orders the mesh has that `symbol` names.
std::optional<size_t> Uniformity::orderOf(Operation *op,
                                          FlatSymbolRefAttr symbol) const {
  MeshOp named = lookupMesh(op, symbol);
  if (!named)
    return std::nullopt;
  const auto *it =
      llvm::find(orders, normalized(named.getMesh().getDeviceIds()));
  if (it == orders.end())
    return std::nullopt;
  return it - orders.begin();
}

/// The axes in the order of the mesh that `symbol` names.
AxisSet Uniformity::toSet(Operation *op, FlatSymbolRefAttr symbol,
                          ArrayRef<AxisRefAttr> axes) const {
  if (axes.empty())
    return none();
  std::optional<size_t> order = orderOf(op, symbol);
  if (!order) // (O3)
    return all();
  AxisSet set = none();
  for (AxisId axis : toAxisList(axes, mesh))
    set.set(*order * mesh.axes.size() + axis);
  return set;
}

/// What a value varies over of which `axes` tell, in the order of the mesh
/// that `symbol` names.
AxisSet Uniformity::spread(const AxisSet &axes, Operation *op,
                           FlatSymbolRefAttr symbol) const {
  std::optional<size_t> order = orderOf(op, symbol);
  if (!order) // (O3)
    return axes.none() ? none() : all();
  size_t count = mesh.axes.size();
  AxisSet others = all();
  others.reset(*order * count, (*order + 1) * count);
  AxisSet own = axes;
  own.reset(others);
  if (own.none()) // (O2)
    return none();
  return own |= others; // (O1)
}

/// (U1)
AxisSet Uniformity::argumentAxes(BlockArgument argument) const {
  ShardingAttr sharding = getShardingOf(argument);
  if (!sharding)
    return all();
  SmallVector<AxisRefAttr> axes(sharding.getPartial());
  for (DimShardingAttr dim : sharding.getDims())
    llvm::append_range(axes, dim.getAxes());
  return spread(toSet(function, sharding.getMesh(), axes), function,
                sharding.getMesh());
}

/// Whether an op may do anything with any devices: a call, or an op of the
/// dialect that does not say what it does.
static bool isUnknown(Operation *op) {
  return isa<CallOpInterface>(op) ||
         (isa_and_nonnull<spmd::SpmdDialect>(op->getDialect()) &&
          !isa<CollectiveOpInterface>(op));
}

std::optional<AxisSet> Uniformity::groupOf(Operation *op) const {
  if (isUnknown(op))
    return all();
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective || !collective.communicates())
    return std::nullopt;
  return toSet(op, collective.getMeshAttr(), collective.getGroupAxes());
}

//===----------------------------------------------------------------------===//
// Dataflow
//===----------------------------------------------------------------------===//

Uniformity::Uniformity(func::FuncOp function, const Mesh &mesh)
    : function(function), context(function.getContext()), mesh(mesh),
      orders{normalized(mesh.deviceIds)} {
  for (auto other : function->getParentOfType<ModuleOp>().getOps<MeshOp>()) {
    SmallVector<int64_t> order = normalized(other.getMesh().getDeviceIds());
    if (!llvm::is_contained(orders, order))
      orders.push_back(order);
  }
  for (BlockArgument argument : function.getArguments())
    axesOf[argument] = argumentAxes(argument);
  // Sets only grow, so this ends. Without loops the second round changes
  // nothing.
  do {
    changed = false;
    function.getBody().walk<WalkOrder::PreOrder>(
        [&](Operation *op) { visit(op); });
  } while (changed);
}

AxisSet Uniformity::varyingAxes(Value value) const {
  auto it = axesOf.find(value);
  return it == axesOf.end() ? none() : it->second;
}

bool Uniformity::isSharedIn(const AxisSet &group, Value value) const {
  AxisSet same = all();
  same.reset(varyingAxes(value));
  for (size_t order = 0; order < orders.size(); ++order) {
    AxisSet axes = none();
    axes.set(order * mesh.axes.size(), (order + 1) * mesh.axes.size());
    // Of another order than the group's any two devices may be in the group.
    AxisSet spanned = axes;
    if (spanned.anyCommon(group))
      spanned &= group;
    if (spanned.anyCommon(same))
      return true;
  }
  return false;
}

AxisSet Uniformity::joinOf(ValueRange values) const {
  AxisSet axes = none();
  for (Value value : values)
    axes |= varyingAxes(value);
  return axes;
}

void Uniformity::join(Value value, const AxisSet &axes) {
  auto [it, isNew] = axesOf.try_emplace(value, none());
  assert(axes.size() == it->second.size() && "sets are over the same orders");
  AxisSet joined = it->second;
  joined |= axes;
  if (joined == it->second)
    return;
  it->second = joined;
  changed = true;
}

/// (U3)
AxisSet Uniformity::collectiveAxes(CollectiveOpInterface op) const {
  FlatSymbolRefAttr from = op.getMeshAttr(), to = op.getResultMeshAttr();
  AxisSet axes = joinOf(op->getOperands());
  if (orderOf(op, from))
    axes.reset(toSet(op, from, op.getUniformAxes()));
  axes = spread(axes, op, from);
  axes |= toSet(op, to, op.getVaryingAxes());
  return spread(axes, op, to);
}

/// Of an op without regions.
AxisSet Uniformity::resultAxes(Operation *op) const {
  if (isUnknown(op)) // (U2)
    return all();
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return collectiveAxes(collective);
  if (!isMemoryEffectFree(op)) // (U2)
    return all();
  return joinOf(op->getOperands()); // (U6)
}

void Uniformity::visit(Operation *op) {
  if (auto joins = dyn_cast<JoinOpInterface>(op))
    return visitJoins(joins);
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
    return visitBranches(branch);
  if (op->getNumRegions() > 0)
    return visitOpaqueRegions(op);
  if (op->getNumResults() == 0)
    return;
  if (auto forwarding = dyn_cast<ForwardingOpInterface>(op);
      forwarding && forwarding.forwardsOperands()) { // (U4)
    for (auto [from, to] : llvm::zip_equal(op->getOperands(), op->getResults()))
      join(to, varyingAxes(from));
    return;
  }
  AxisSet axes = resultAxes(op);
  for (Value result : op->getResults())
    join(result, axes);
}

/// (U5) of the values that chose.
void Uniformity::joinChoosers(Operation *op) {
  AxisSet chosenBy = joinOf(choosers(op));
  for (Value result : op->getResults())
    join(result, chosenBy);
}

void Uniformity::visitBranches(RegionBranchOpInterface op) {
  llvm::DenseSet<Value> forwardedTo;
  for (RegionBranchPoint point : op.getAllRegionBranchPoints()) {
    SmallVector<RegionSuccessor> successors;
    op.getSuccessorRegions(point, successors);
    for (RegionSuccessor successor : successors)
      for (auto [from, to] :
           llvm::zip_equal(op.getSuccessorOperands(point, successor),
                           successor.getSuccessorInputs())) {
        join(to, varyingAxes(from)); // (U5)
        forwardedTo.insert(to);
      }
  }
  joinChoosers(op);
  AxisSet fromOp = joinOf(op->getOperands());
  for (Region &region : op->getRegions())
    for (BlockArgument argument : region.getArguments())
      if (!forwardedTo.contains(argument))
        join(argument, fromOp); // (U6)
}

void Uniformity::visitJoins(JoinOpInterface op) {
  for (const Join &one : op.getJoins())
    for (OpOperand *source : one.sources)
      for (Value value : one.values)
        join(value, varyingAxes(source->get())); // (U5)
  joinChoosers(op);
}

/// (U7)
void Uniformity::visitOpaqueRegions(Operation *op) {
  AxisSet axes = joinOf(op->getOperands());
  op->walk([&](Operation *inner) { axes |= joinOf(inner->getOperands()); });
  for (Region &region : op->getRegions())
    for (BlockArgument argument : region.getArguments())
      join(argument, axes);
  for (Value result : op->getResults())
    join(result, axes);
}

SmallVector<Value> Uniformity::choosers(Operation *op) {
  if (auto joins = dyn_cast<JoinOpInterface>(op))
    return llvm::map_to_vector(
        joins.getWholeOperands(),
        [](OpOperand *operand) { return operand->get(); });
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  if (!branch)
    return {};
  llvm::SetVector<Value> values;
  for (RegionBranchPoint point : branch.getAllRegionBranchPoints()) {
    SmallVector<RegionSuccessor> successors;
    branch.getSuccessorRegions(point, successors);
    if (successors.size() < 2)
      continue;
    llvm::DenseSet<OpOperand *> forwarded;
    for (RegionSuccessor successor : successors) {
      OperandRange range = branch.getSuccessorOperands(point, successor);
      for (unsigned i = 0; i < range.size(); ++i)
        forwarded.insert(&range.getBase()[i]);
    }
    Operation *at =
        point.isParent() ? op : point.getTerminatorPredecessorOrNull();
    for (OpOperand &operand : at->getOpOperands())
      if (!forwarded.contains(&operand))
        values.insert(operand.get());
  }
  return values.takeVector();
}

//===----------------------------------------------------------------------===//
// Origins
//===----------------------------------------------------------------------===//

/// What the op says that `value`, a result or an argument of a region, is.
static SmallVector<Value> findSources(JoinOpInterface op, Value value) {
  SmallVector<Value> sources;
  for (const Join &join : op.getJoins())
    if (llvm::is_contained(join.values, value))
      for (OpOperand *source : join.sources)
        sources.push_back(source->get());
  if (isa<OpResult>(value))
    llvm::append_range(sources, Uniformity::choosers(op));
  return sources;
}

SmallVector<Value> Uniformity::sourcesOf(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op)
    op = cast<BlockArgument>(value).getOwner()->getParentOp();
  if (auto joins = dyn_cast<JoinOpInterface>(op))
    return findSources(joins, value);
  auto branch = dyn_cast<RegionBranchOpInterface>(op);
  if (isa<func::FuncOp>(op))
    return {};
  if (!branch) {
    llvm::SetVector<Value> sources(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), sources);
    return sources.takeVector();
  }
  RegionBranchInverseSuccessorMapping mapping;
  branch.getSuccessorInputOperandMapping(mapping);
  SmallVector<Value> sources;
  for (OpOperand *operand : mapping.lookup(value))
    sources.push_back(operand->get());
  if (isa<OpResult>(value))
    llvm::append_range(sources, choosers(op));
  else if (sources.empty())
    llvm::append_range(sources, op->getOperands());
  return sources;
}

Value Uniformity::originOf(Value value, const AxisSet &axes) const {
  // Breadth first: the nearest; loops hand values round in circles.
  llvm::SetVector<Value> open;
  open.insert(value);
  for (size_t i = 0; i < open.size(); ++i) {
    bool isOrigin = true;
    for (Value source : sourcesOf(open[i]))
      if (varyingAxes(source).anyCommon(axes)) {
        isOrigin = false;
        open.insert(source);
      }
    if (isOrigin)
      return open[i];
  }
  return value;
}
