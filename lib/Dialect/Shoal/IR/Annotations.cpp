// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The annotations, and the reshard they lead to.

#include "VerifyAddends.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace shoal;

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.cpp.inc"

//===----------------------------------------------------------------------===//
// split
//===----------------------------------------------------------------------===//

/// `partitions` devices are those of some minor axes of the mesh, the last of
/// them perhaps in part.
static LogicalResult verifyMinorAxes(SplitOp op, MeshOp mesh,
                                     int64_t partitions) {
  int64_t rest = partitions;
  for (MeshAxisAttr axis : llvm::reverse(mesh.getMesh().getAxes())) {
    int64_t size = axis.getSize();
    if (rest == 1)
      break;
    if (rest % size != 0 && size % rest != 0) {
      InFlightDiagnostic error = op.emitOpError()
                                 << "num_partitions: " << partitions
                                 << " is not a product of minor axes of mesh @"
                                 << mesh.getSymName() << ": axis \""
                                 << axis.getName() << "\" of size " << size
                                 << " has no minor part of size " << rest;
      error.attachNote(mesh.getLoc()) << "the mesh is defined here";
      return error;
    }
    rest = rest % size == 0 ? rest / size : 1;
  }
  return success();
}

LogicalResult SplitOp::verify() {
  int64_t dim = getDim(), partitions = getNumPartitions();
  if (failed(verifyDim(*this, "dim", dim, getType().getRank()))) // (A1)
    return failure();
  if (partitions < 1) // (A2)
    return emitOpError() << "num_partitions: expected at least 1 but got "
                         << partitions;
  MeshOp mesh = findFirstMesh(*this);
  if (!mesh)
    return success();
  int64_t devices = mesh.getMesh().getNumDevices();
  if (partitions > devices || devices % partitions != 0) {
    InFlightDiagnostic error = emitOpError();
    error << "num_partitions: " << partitions
          << (partitions > devices ? " is more than the "
                                   : " does not divide the ")
          << devices << " devices of mesh @" << mesh.getSymName();
    error.attachNote(mesh.getLoc()) << "the mesh is defined here";
    return error;
  }
  return verifyMinorAxes(*this, mesh, partitions);
}

//===----------------------------------------------------------------------===//
// shard
//===----------------------------------------------------------------------===//

LogicalResult ShardOp::verify() {
  DenseIntElementsAttr array = getDeviceAssignment();
  int64_t rank = getType().getRank(), arrayRank = array.getType().getRank();
  if (arrayRank != rank && arrayRank != rank + 1) // (A3)
    return emitOpError() << "device_assignment: expected rank " << rank
                         << ", or " << rank + 1
                         << " to replicate, but got rank " << arrayRank;
  MeshOp mesh = findFirstMesh(*this);
  int64_t devices =
      mesh ? mesh.getMesh().getNumDevices() : array.getNumElements();
  auto fail = [&]() {
    InFlightDiagnostic error = emitOpError() << "device_assignment: ";
    if (mesh)
      error.attachNote(mesh.getLoc()) << "the mesh is defined here";
    return error;
  };
  if (array.getNumElements() != devices) // (A4)
    return fail() << "expected " << devices << " devices, as mesh @"
                  << mesh.getSymName() << " has, but got "
                  << array.getNumElements();
  llvm::SmallSet<int64_t, 16> seen;
  for (const APInt &value : array.getValues<APInt>()) {
    int64_t device = value.getSExtValue();
    if (device < 0 || device >= devices)
      return fail() << "device " << device << " is not in 0 to " << devices - 1;
    if (!seen.insert(device).second)
      return fail() << "device " << device << " occurs twice";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// sharding_constraint, reshard
//===----------------------------------------------------------------------===//

LogicalResult ShardingConstraintOp::verify() {
  auto fail = [&]() { return emitOpError(); };
  if (failed(getSharding().verifyFor(getType(), *this, fail))) // (A5)
    return failure();
  return verifyAddends(getSharding(), getType(), fail); // (S4)
}

LogicalResult ReshardOp::verify() {
  auto verifySide = [&](ShardingAttr sharding, StringRef side) {
    auto fail = [&]() { return emitOpError() << side << ": "; };
    if (failed(sharding.verifyFor(getType(), *this, fail))) // (R1)
      return failure();
    if (sharding.hasOpenDims())
      return LogicalResult(fail() << "expected no open dimension");
    return success();
  };
  if (failed(verifySide(getSource(), "source")) ||
      failed(verifySide(getTarget(), "target")))
    return failure();
  MeshOp source = lookupMesh(*this, getSource().getMesh());
  MeshOp target = lookupMesh(*this, getTarget().getMesh());
  if (source.getMesh().getAxes() != target.getMesh().getAxes()) { // (R2)
    InFlightDiagnostic error = emitOpError()
                               << "target: mesh @" << target.getSymName()
                               << " has other axes than mesh @"
                               << source.getSymName() << " of the source";
    error.attachNote(target.getLoc()) << "the target's mesh is defined here";
    error.attachNote(source.getLoc()) << "the source's mesh is defined here";
    return error;
  }
  return success();
}

OpFoldResult ReshardOp::fold(FoldAdaptor) {
  return getSource() == getTarget() ? getInput() : OpFoldResult();
}

//===----------------------------------------------------------------------===//
// stop_gradient
//===----------------------------------------------------------------------===//

SmallVector<Value> StopGradientOp::decompose(OpBuilder &) {
  return {getInput()};
}
