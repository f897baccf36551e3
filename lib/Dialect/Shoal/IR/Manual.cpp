// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// manual_computation and its shorthands.

#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/ManualOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace shoal;

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/ManualOps.cpp.inc"

static bool isNamed(AxisRefAttr axis, AxesAttr axes) {
  return llvm::any_of(axes.getAxes(), [&](AxisRefAttr other) {
    return other.getName() == axis.getName();
  });
}

SplitAxes shoal::splitAxes(ShardingAttr sharding, AxesAttr axes) {
  SplitAxes split;
  for (DimShardingAttr dim : sharding.getDims()) {
    auto &named = split.named.emplace_back(),
         &others = split.others.emplace_back();
    for (AxisRefAttr axis : dim.getAxes())
      (isNamed(axis, axes) ? named : others).push_back(axis);
  }
  return split;
}

/// Checks that `local` is what a device has of `global`, whose dimensions are
/// split over `axes`: (M3), (A2).
static LogicalResult verifyShard(RankedTensorType global, Type local,
                                 ArrayRef<SmallVector<AxisRefAttr>> axes,
                                 MeshAttr mesh, EmitError emitError) {
  SmallVector<int64_t> shape(global.getShape());
  for (auto [d, list] : llvm::enumerate(axes)) {
    int64_t shards = 1;
    for (AxisRefAttr axis : list)
      shards *= axis.getSizeIn(mesh);
    if (shape[d] % shards != 0)
      return emitError() << "dim " << d << ": size " << shape[d]
                         << " is not divisible by the " << shards
                         << " devices along its manual axes";
    shape[d] /= shards;
  }
  RankedTensorType expected = global.clone(shape);
  if (expected == local)
    return success();
  return emitError() << "expected the shard's type " << expected << " but got "
                     << local;
}

//===----------------------------------------------------------------------===//
// manual_computation
//===----------------------------------------------------------------------===//

/// (M1)
static LogicalResult verifyManualAxes(ManualComputationOp op, MeshOp mesh) {
  llvm::StringSet<> seen;
  for (AxisRefAttr axis : op.getManualAxes().getAxes()) {
    if (!axis.isWhole())
      return op.emitOpError() << "manual axis \"" << axis.getName()
                              << "\": expected a whole axis";
    if (!mesh.getMesh().getAxisSize(axis.getName())) {
      InFlightDiagnostic error =
          op.emitOpError() << "manual axis \"" << axis.getName()
                           << "\" is not one of mesh @" << mesh.getSymName();
      error.attachNote(mesh.getLoc()) << "the mesh is defined here";
      return error;
    }
    if (!seen.insert(axis.getName()).second)
      return op.emitOpError()
             << "manual axis \"" << axis.getName() << "\" occurs twice";
  }
  return success();
}

/// (M3): which axes a dimension of `size` rows has.
static LogicalResult verifyDim(ManualComputationOp op, DimShardingAttr dim,
                               int64_t size, MeshAttr mesh,
                               EmitError emitError) {
  bool hasManual = false, hasOther = false;
  int64_t shards = 1;
  for (AxisRefAttr axis : dim.getAxes()) {
    bool isManual = isNamed(axis, op.getManualAxes());
    if (isManual && hasOther)
      return emitError() << "manual axis \"" << axis.getName()
                         << "\" stands behind another axis";
    hasManual |= isManual;
    hasOther |= !isManual;
    shards *= axis.getSizeIn(mesh);
  }
  if (hasManual && size % shards != 0)
    return emitError() << "size " << size << " is not divisible by the "
                       << shards << " devices along its axes";
  return success();
}

/// (M2), (M3)
static LogicalResult verifyBoundary(ManualComputationOp op,
                                    ShardingAttr sharding, Type type,
                                    MeshAttr mesh, EmitError emitError) {
  if (sharding.getMesh() != op.getMeshAttr())
    return emitError() << "expected a sharding over mesh " << op.getMeshAttr();
  if (failed(sharding.verifyFor(type, op, emitError)))
    return failure();
  if (!sharding.getPartial().empty())
    return emitError() << "expected no partial axes";
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

/// The axes of one attribute, be it of a collective or a sharding.
static LogicalResult verifyAxes(Operation *nested, Attribute attr,
                                ManualComputationOp region,
                                bool isOfCollective) {
  AxisRefAttr wrong;
  ShardingAttr sharding;
  attr.walk([&](Attribute part) {
    if (auto axis = dyn_cast<AxisRefAttr>(part))
      if (isNamed(axis, region.getManualAxes()) != isOfCollective)
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

/// (M4): shardings are over the axes that are not manual, collectives over
/// those that are, all of the region's mesh.
static LogicalResult verifyNested(Operation *nested,
                                  ManualComputationOp region) {
  if (isa<ManualComputationOp>(nested))
    return nested->emitOpError("is in another manual_computation");
  bool isSpmd =
      nested->getDialect() && nested->getDialect()->getNamespace() == "spmd";
  for (NamedAttribute attr : nested->getAttrs()) {
    // What a collective is over; what begins with a dialect's name is said of
    // any op.
    bool isOfCollective = isSpmd && !attr.getNameDialect();
    if (failed(verifyAxes(nested, attr.getValue(), region, isOfCollective)))
      return failure();
    auto mesh = isOfCollective ? dyn_cast<FlatSymbolRefAttr>(attr.getValue())
                               : FlatSymbolRefAttr();
    if (mesh && failed(verifyMesh(nested, mesh, region)))
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
      if (failed(verifyShard(cast<RankedTensorType>(whole), part,
                             splitAxes(sharding, getManualAxes()).named,
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
  WalkResult walk = getBody().walk([&](Operation *nested) {
    return WalkResult(verifyNested(nested, *this));
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
