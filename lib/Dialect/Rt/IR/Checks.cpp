// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "shoal/Dialect/Rt/IR/RtCheckOps.cpp.inc"

namespace shoal::rt {

//===----------------------------------------------------------------------===//
// check
//===----------------------------------------------------------------------===//

static_assert(static_cast<int64_t>(CheckRole::Made) ==
                  static_cast<int64_t>(calls::CheckRole::Made) &&
              static_cast<int64_t>(CheckRole::Joined) ==
                  static_cast<int64_t>(calls::CheckRole::Joined));

LogicalResult CheckOp::verify() {
  SmallVector<int64_t> numbers(getSources());
  numbers.push_back(static_cast<int64_t>(getValue()));
  for (int64_t number : numbers) // (C2)
    if (number < 0)
      return emitOpError("expected numbers of at least 0 but got ") << number;
  return success();
}

LogicalResult CheckOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto mesh =
      symbols.lookupNearestSymbolFrom<MeshOp>(*this, getSharding().getMesh());
  if (!mesh) // (C1)
    return emitOpError("the mesh ")
           << getSharding().getMesh() << " is not declared";
  auto error = [&] { return emitOpError("sharding: "); };
  auto type = cast<ShapedType>(getInput().getType());
  auto whole = RankedTensorType::get(getShape(), type.getElementType());
  if (failed(getSharding().verifyFor(whole, mesh, error)))
    return failure();
  SmallVector<AxisRefAttr> seen;
  if (getVarying() &&
      failed(verifyAxes(getVarying()->getAxes(), mesh, seen, error)))
    return failure();
  SmallVector<int64_t> shard(getShape());
  for (auto [size, dim] : llvm::zip_equal(shard, getSharding().getDims()))
    size = shardSize(size, sizeOf(dim.getAxes(), mesh.getMesh()));
  if (type.getShape() != ArrayRef(shard))
    return emitOpError("expected a shard, ")
           << whole.clone(shard) << ", but got " << type;
  return success();
}

std::vector<int64_t> CheckOp::getDescriptor(const ProgramMeshes &meshes) {
  FlatSymbolRefAttr mesh = getSharding().getMesh();
  calls::CheckCall call;
  call.type = encodeType(getInput().getType());
  call.mesh = meshes.numberOf(mesh);
  call.blocks = {getShape().vec(), encodeShape(getInput()), {}};
  auto encodeAxes = [&](ArrayRef<AxisRefAttr> axes) {
    return meshes.encode(mesh, AxesAttr::get(getContext(), axes));
  };
  for (DimShardingAttr dim : getSharding().getDims())
    call.blocks.dims.push_back(encodeAxes(dim.getAxes()));
  if (getVarying())
    call.varying = meshes.encode(mesh, *getVarying());
  call.value = static_cast<int64_t>(getValue());
  call.role = static_cast<calls::CheckRole>(getRole());
  call.sources = getSources().vec();
  call.assumesNaN = getAssumesNan();
  call.assumesInf = getAssumesInf();
  call.findsNaN = getNan();
  call.findsInf = getInf();
  call.comparesReplicas = getReplicas();
  call.what = getWhat().str();
  call.place = getPlace().str();
  return encode(call);
}

//===----------------------------------------------------------------------===//
// iteration
//===----------------------------------------------------------------------===//

static_assert(static_cast<int64_t>(IterationEvent::Next) ==
                  static_cast<int64_t>(calls::IterationEvent::Next) &&
              static_cast<int64_t>(IterationEvent::End) ==
                  static_cast<int64_t>(calls::IterationEvent::End));

LogicalResult IterationOp::verify() {
  auto depth = static_cast<int64_t>(getDepth());
  if (depth < 0) // (C1)
    return emitOpError("expected a depth of at least 0 but got ") << depth;
  return success();
}

std::vector<int64_t> IterationOp::getDescriptor(const ProgramMeshes &) {
  return encode(calls::IterationCall{
      static_cast<int64_t>(getDepth()),
      static_cast<calls::IterationEvent>(getEvent()), getPlace().str()});
}

} // namespace shoal::rt
