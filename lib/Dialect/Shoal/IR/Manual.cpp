// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// manual_computation and its shorthands.

#include "VerifyAddends.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/ManualOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "shoal/Sharding/Mesh.h"

using namespace mlir;
using namespace shoal;

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/ManualOps.cpp.inc"

SplitAxes shoal::splitAxes(ShardingAttr sharding, AxesAttr axes,
                           MeshAttr mesh) {
  SplitAxes split;
  for (DimShardingAttr dim : sharding.getDims()) {
    auto &named = split.named.emplace_back(),
         &others = split.others.emplace_back();
    for (AxisRefAttr axis : dim.getAxes())
      (covers(axes.getAxes(), axis, mesh) ? named : others).push_back(axis);
  }
  return split;
}

SmallVector<AxisRefAttr> shoal::manualAxesIn(ManualComputationOp region) {
  SmallVector<AxisRefAttr> axes;
  if (auto outer = region->getParentOfType<ManualComputationOp>())
    axes = manualAxesIn(outer);
  llvm::append_range(axes, region.getManualAxes().getAxes());
  return axes;
}

/// Whether `axis` shares a part with one of `list`.
static bool overlapsAny(ArrayRef<AxisRefAttr> list, AxisRefAttr axis,
                        MeshAttr mesh) {
  return llvm::any_of(
      list, [&](AxisRefAttr other) { return overlap(axis, other, mesh); });
}

/// Checks that `local` is what a device has of `global`, whose dimensions are
/// split over `axes`: (M3), (A2).
static LogicalResult verifyShard(RankedTensorType global, Type local,
                                 ArrayRef<SmallVector<AxisRefAttr>> axes,
                                 MeshAttr mesh, EmitError emitError) {
  SmallVector<int64_t> shape(global.getShape());
  for (auto [size, list] : llvm::zip_equal(shape, axes))
    size = shardSize(size, sizeOf(list, mesh));
  RankedTensorType expected = global.clone(shape);
  if (expected == local)
    return success();
  return emitError() << "expected the shard's type " << expected << " but got "
                     << local;
}

//===----------------------------------------------------------------------===//
// manual_computation
//===----------------------------------------------------------------------===//

static LogicalResult verifyMesh(Operation *nested, FlatSymbolRefAttr mesh,
                                ManualComputationOp region) {
  if (mesh == region.getMeshAttr())
    return success();
  InFlightDiagnostic error = nested->emitOpError()
                             << "is over mesh " << mesh
                             << ", the manual_computation around it over "
                             << region.getMeshAttr();
  error.attachNote(region.getLoc()) << "the manual_computation is here";
  return error;
}

/// (M1)
static LogicalResult verifyManualAxes(ManualComputationOp op, MeshOp mesh) {
  SmallVector<AxisRefAttr> seen;
  ArrayRef<AxisRefAttr> axes = op.getManualAxes().getAxes();
  if (failed(verifyAxes(axes, mesh, seen,
                        [&]() { return op.emitOpError() << "manual axes: "; })))
    return failure();
  for (auto outer = op->getParentOfType<ManualComputationOp>(); outer;
       outer = outer->getParentOfType<ManualComputationOp>()) {
    if (failed(verifyMesh(op, op.getMeshAttr(), outer)))
      return failure();
    for (AxisRefAttr axis : axes) {
      if (!overlapsAny(outer.getManualAxes().getAxes(), axis, mesh.getMesh()))
        continue;
      InFlightDiagnostic error = op.emitOpError()
                                 << "manual axes: axis \"" << axis.getName()
                                 << "\" is manual already around it";
      error.attachNote(outer.getLoc()) << "in this manual_computation, over "
                                       << toString(outer.getManualAxes());
      return error;
    }
  }
  return success();
}

/// (M3): which axes a dimension of `size` rows has.
static LogicalResult verifyDim(ManualComputationOp op, DimShardingAttr dim,
                               int64_t size, MeshAttr mesh,
                               EmitError emitError) {
  ArrayRef<AxisRefAttr> manual = op.getManualAxes().getAxes();
  SmallVector<AxisRefAttr> own, others;
  for (AxisRefAttr axis : dim.getAxes()) {
    bool isManual = covers(manual, axis, mesh);
    if (!isManual && overlapsAny(manual, axis, mesh))
      return emitError() << "a part of axis \"" << axis.getName()
                         << "\" is manual: expected it as parts";
    if (isManual && !others.empty())
      return emitError() << "manual axis \"" << axis.getName()
                         << "\" stands behind another axis";
    (isManual ? own : others).push_back(axis);
  }
  int64_t rows = shardSize(size, sizeOf(own, mesh));
  int64_t shards = sizeOf(others, mesh);
  if (!own.empty() && rows % shards != 0)
    return emitError() << "the shard of " << rows
                       << " rows over manual axes is "
                       << "not divisible by the " << shards
                       << " devices along the axes behind";
  return success();
}

/// (M2), (M3)
static LogicalResult verifyBoundary(ManualComputationOp op,
                                    ShardingAttr sharding, Type type,
                                    MeshAttr mesh, EmitError emitError) {
  if (sharding.getMesh() != op.getMeshAttr())
    return emitError() << "expected a sharding over mesh " << op.getMeshAttr();
  if (failed(sharding.verifyFor(type, op, emitError)) ||
      failed(verifyAddends(sharding, type, emitError)))
    return failure();
  for (AxisRefAttr axis : sharding.getPartial())
    if (!covers(op.getManualAxes().getAxes(), axis, mesh) &&
        overlapsAny(op.getManualAxes().getAxes(), axis, mesh))
      return emitError() << "a part of axis \"" << axis.getName()
                         << "\" is manual: expected it as parts";
  for (auto [d, dim, size] : llvm::enumerate(
           sharding.getDims(), cast<RankedTensorType>(type).getShape()))
    if (failed(verifyDim(op, dim, size, mesh, [&, d = d]() {
          return emitError() << "dim " << d << ": ";
        })))
      return failure();
  return success();
}

LogicalResult ManualComputationOp::verify() {
  MeshOp mesh = lookupMesh(*this, getMeshAttr());
  if (!mesh)
    return emitOpError() << "unknown mesh " << getMeshAttr();
  if (failed(verifyManualAxes(*this, mesh)))
    return failure();
  auto verifyList = [&](ArrayAttr list, TypeRange types, StringRef kind) {
    if (list.size() != types.size()) // (M2)
      return LogicalResult(emitOpError()
                           << "expected " << types.size() << " shardings of "
                           << kind << "s but got " << list.size());
    for (auto [i, sharding, type] :
         llvm::enumerate(list.getAsRange<ShardingAttr>(), types))
      if (failed(verifyBoundary(
              *this, sharding, type, mesh.getMesh(), [&, i = i]() {
                return emitOpError() << kind << ' ' << i << ": ";
              })))
        return failure();
    return success();
  };
  return success(
      succeeded(
          verifyList(getInShardings(), getInputs().getTypes(), "operand")) &&
      succeeded(verifyList(getOutShardings(), getResultTypes(), "result")));
}

/// The axes of one attribute, be it of a collective or a sharding.
static LogicalResult verifyAxes(Operation *nested, Attribute attr,
                                ManualComputationOp region, MeshAttr mesh,
                                ArrayRef<AxisRefAttr> manual,
                                bool isOfCollective) {
  AxisRefAttr wrong;
  ShardingAttr sharding;
  attr.walk([&](Attribute part) {
    if (auto axis = dyn_cast<AxisRefAttr>(part))
      if (isOfCollective ? !covers(manual, axis, mesh)
                         : overlapsAny(manual, axis, mesh))
        wrong = axis;
    if (auto inner = dyn_cast<ShardingAttr>(part))
      if (inner.getMesh() != region.getMeshAttr())
        sharding = inner;
  });
  if (sharding)
    return verifyMesh(nested, sharding.getMesh(), region);
  if (!wrong)
    return success();
  return nested->emitOpError()
         << "axis \"" << wrong.getName() << "\" is "
         << (isOfCollective
                 ? "not manual: a collective here goes over manual axes"
                 : "manual: shardings here name the other axes");
}

/// The axes that collectives in the region may go over: the manual ones; all
/// where more of them are manual once calls are inlined, as a private function
/// may be called in another region, and casts are regions.
static SmallVector<AxisRefAttr> collectiveAxesIn(ManualComputationOp region,
                                                 MeshAttr mesh) {
  auto function = region->getParentOfType<FunctionOpInterface>();
  bool isCalled =
      function && cast<SymbolOpInterface>(function.getOperation()).isPrivate();
  WalkResult casts = region.getBody().walk(
      [](AutoToManualOp) { return WalkResult::interrupt(); });
  if (!isCalled && !casts.wasInterrupted())
    return manualAxesIn(region);
  return llvm::map_to_vector(mesh.getAxes(), [](MeshAxisAttr axis) {
    return AxisRefAttr::get(axis.getContext(), axis.getName(), 1, 0);
  });
}

/// (M4): shardings are over the axes that are not manual, collectives over
/// those that are, all of the region's mesh.
static LogicalResult verifyNested(Operation *nested, ManualComputationOp region,
                                  MeshAttr mesh, ArrayRef<AxisRefAttr> manual,
                                  ArrayRef<AxisRefAttr> collective) {
  bool isSpmd =
      nested->getDialect() && nested->getDialect()->getNamespace() == "spmd";
  for (NamedAttribute attr : nested->getAttrs()) {
    // What a collective is over; what begins with a dialect's name is said of
    // any op.
    bool isOfCollective = isSpmd && !attr.getNameDialect();
    if (failed(verifyAxes(nested, attr.getValue(), region, mesh,
                          isOfCollective ? collective : manual,
                          isOfCollective)))
      return failure();
    auto name = isOfCollective ? dyn_cast<FlatSymbolRefAttr>(attr.getValue())
                               : FlatSymbolRefAttr();
    if (name && failed(verifyMesh(nested, name, region)))
      return failure();
  }
  return success();
}

LogicalResult ManualComputationOp::verifyRegions() {
  auto yield = dyn_cast<YieldOp>(getBody().front().back());
  if (!yield)
    return emitOpError("expected to end in shoal.yield");
  MeshOp mesh = lookupMesh(*this, getMeshAttr());
  auto verifyTypes = [&](ArrayAttr shardings, TypeRange global, TypeRange local,
                         StringRef kind) {
    if (global.size() != local.size())
      return LogicalResult(emitOpError()
                           << "expected " << global.size() << ' ' << kind
                           << "s but got " << local.size());
    for (auto [i, sharding, whole, part] :
         llvm::enumerate(shardings.getAsRange<ShardingAttr>(), global, local))
      if (failed(verifyShard(
              cast<RankedTensorType>(whole), part,
              splitAxes(sharding, getManualAxes(), mesh.getMesh()).named,
              mesh.getMesh(), [&, i = i]() {
                return emitOpError() << kind << ' ' << i << ": ";
              })))
        return failure();
    return success();
  };
  if (failed(verifyTypes(getInShardings(), getInputs().getTypes(), // (M3)
                         getBody().getArgumentTypes(), "argument")) ||
      failed(verifyTypes(getOutShardings(), getResultTypes(),
                         yield.getValues().getTypes(), "yielded value")))
    return failure();
  SmallVector<AxisRefAttr> manual = manualAxesIn(*this);
  SmallVector<AxisRefAttr> collective = collectiveAxesIn(*this, mesh.getMesh());
  auto walk = getBody().walk<WalkOrder::PreOrder>([&](Operation *nested) {
    if (failed(verifyNested(nested, *this, mesh.getMesh(), manual, collective)))
      return WalkResult::interrupt();
    // What stands in an inner region that one has checked.
    return isa<ManualComputationOp>(nested) ? WalkResult::skip()
                                            : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

ArrayAttr ManualComputationOp::getManualAxisRefs() {
  return ArrayAttr::get(
      getContext(),
      llvm::map_to_vector(getManualAxes().getAxes(),
                          [](AxisRefAttr axis) -> Attribute { return axis; }));
}

FlatSymbolRefAttr ManualComputationOp::getManualMesh() { return getMeshAttr(); }

SmallVector<Boundary> ManualComputationOp::getBoundaries() {
  SmallVector<Boundary> boundaries;
  for (auto [i, sharding] :
       llvm::enumerate(getInShardings().getAsRange<ShardingAttr>()))
    boundaries.push_back({&getInputsMutable()[i], getBody().getArgument(i),
                          sharding, /*isEntry=*/true});
  Operation *yield = getBody().front().getTerminator();
  for (auto [i, sharding] :
       llvm::enumerate(getOutShardings().getAsRange<ShardingAttr>()))
    boundaries.push_back(
        {&yield->getOpOperand(i), getResult(i), sharding, /*isEntry=*/false});
  return boundaries;
}

//===----------------------------------------------------------------------===//
// auto_to_manual, manual_to_auto
//===----------------------------------------------------------------------===//

static LogicalResult verifyCast(Operation *op, ShardingAttr sharding,
                                Type global, Type local) {
  auto emitError = [&]() { return op->emitOpError(); };
  if (failed(sharding.verifyFor(global, op, emitError))) // (A1)
    return failure();
  if (!sharding.getPartial().empty() || sharding.hasOpenDims())
    return op->emitOpError("expected no partial axes and no open dimensions");
  SmallVector<SmallVector<AxisRefAttr>> axes;
  for (DimShardingAttr dim : sharding.getDims())
    axes.emplace_back(dim.getAxes());
  return verifyShard(cast<RankedTensorType>(global), local, axes, // (A2)
                     lookupMesh(op, sharding.getMesh()).getMesh(), emitError);
}

LogicalResult AutoToManualOp::verify() {
  return verifyCast(*this, getSharding(), getInput().getType(), getType());
}

LogicalResult ManualToAutoOp::verify() {
  return verifyCast(*this, getSharding(), getType(), getInput().getType());
}
