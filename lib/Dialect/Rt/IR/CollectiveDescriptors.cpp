// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The descriptors of collectives, and the scratch that follows from them.

#include "shoal/Calls/CollectiveScratch.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Sharding/ExchangeCost.h"

using namespace mlir;

namespace shoal::rt {

/// -1 for a call that does not communicate.
static int64_t encodeNumber(RuntimeCallOpInterface call) {
  return call.getCollectiveNumber().value_or(-1);
}

std::vector<int64_t> AxisIndexOp::getDescriptor(const ProgramMeshes &meshes) {
  return encode(calls::AxisIndexCall{meshes.numberOf(getMeshAttr()),
                                     meshes.encode(getMeshAttr(), getAxes())});
}

std::vector<int64_t> WaitOp::getDescriptor(const ProgramMeshes &) {
  return encode(calls::WaitCall{static_cast<int64_t>(getCollective())});
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

static calls::BlockShapes encodeBlocks(const ProgramMeshes &meshes,
                                       FlatSymbolRefAttr mesh, ArrayAttr axes,
                                       Value whole, Value block) {
  calls::BlockShapes blocks{encodeShape(whole), encodeShape(block), {}};
  for (auto list : axes.getAsRange<AxesAttr>())
    blocks.dims.push_back(meshes.encode(mesh, list));
  return blocks;
}

static calls::AllGatherCall describe(AllGatherOp op,
                                     const ProgramMeshes &meshes) {
  return {encodeNumber(op), encodeType(op.getInput().getType()),
          meshes.numberOf(op.getMeshAttr()),
          encodeBlocks(meshes, op.getMeshAttr(), op.getAxes(), op.getOutput(),
                       op.getInput())};
}

std::vector<int64_t> AllGatherOp::getDescriptor(const ProgramMeshes &meshes) {
  return encode(describe(*this, meshes));
}

int64_t AllGatherOp::getScratchBytes(const ProgramMeshes &meshes,
                                     bool onDevice) {
  return scratchBytes(describe(*this, meshes), onDevice);
}

std::vector<int64_t> AllSliceOp::getDescriptor(const ProgramMeshes &meshes) {
  return encode(calls::AllSliceCall{
      encodeType(getInput().getType()), meshes.numberOf(getMeshAttr()),
      encodeBlocks(meshes, getMeshAttr(), getAxes(), getInput(), getOutput())});
}

static calls::ReduceScatterCall describe(ReduceScatterOp op,
                                         const ProgramMeshes &meshes) {
  return {encodeNumber(op), encodeType(op.getInput().getType()),
          meshes.numberOf(op.getMeshAttr()), encodeKind(op.getKind()),
          encodeBlocks(meshes, op.getMeshAttr(), op.getAxes(), op.getInput(),
                       op.getOutput())};
}

std::vector<int64_t>
ReduceScatterOp::getDescriptor(const ProgramMeshes &meshes) {
  return encode(describe(*this, meshes));
}

int64_t ReduceScatterOp::getScratchBytes(const ProgramMeshes &meshes,
                                         bool onDevice) {
  return scratchBytes(describe(*this, meshes), onDevice);
}

//===----------------------------------------------------------------------===//
// all_reduce
//===----------------------------------------------------------------------===//

static calls::AllReduceCall describe(AllReduceOp op,
                                     const ProgramMeshes &meshes) {
  return {encodeNumber(op),
          encodeType(op.getInput().getType()),
          meshes.numberOf(op.getMeshAttr()),
          encodeKind(op.getKind()),
          cast<ShapedType>(op.getInput().getType()).getNumElements(),
          meshes.encode(op.getMeshAttr(), op.getAxes())};
}

std::vector<int64_t> AllReduceOp::getDescriptor(const ProgramMeshes &meshes) {
  return encode(describe(*this, meshes));
}

int64_t AllReduceOp::getScratchBytes(const ProgramMeshes &meshes,
                                     bool onDevice) {
  return scratchBytes(describe(*this, meshes), onDevice);
}

//===----------------------------------------------------------------------===//
// all_to_all
//===----------------------------------------------------------------------===//

static calls::AllToAllCall describe(AllToAllOp op,
                                    const ProgramMeshes &meshes) {
  calls::AllToAllCall call{encodeNumber(op),
                           encodeType(op.getInput().getType()),
                           meshes.numberOf(op.getMeshAttr()),
                           encodeShape(op.getInput()),
                           encodeShape(op.getOutput()),
                           {}};
  for (auto move : op.getMoves().getAsRange<spmd::MoveAttr>())
    call.moves.push_back({move.getSourceDim(), move.getTargetDim(),
                          meshes.encode(op.getMeshAttr(), move.getAxes())});
  return call;
}

std::vector<int64_t> AllToAllOp::getDescriptor(const ProgramMeshes &meshes) {
  return encode(describe(*this, meshes));
}

int64_t AllToAllOp::getScratchBytes(const ProgramMeshes &meshes,
                                    bool onDevice) {
  return scratchBytes(describe(*this, meshes), onDevice);
}

//===----------------------------------------------------------------------===//
// ragged_all_to_all
//===----------------------------------------------------------------------===//

static calls::RaggedAllToAllCall describe(RaggedAllToAllOp op,
                                          const ProgramMeshes &meshes) {
  auto input = cast<ShapedType>(op.getInput().getType());
  auto output = cast<ShapedType>(op.getOutput().getType());
  int64_t elements = 1;
  for (int64_t size : input.getShape().drop_front())
    elements *= size;
  return {encodeNumber(op),
          encodeType(input),
          encodeType(op.getSendSizes().getType()),
          meshes.numberOf(op.getMeshAttr()),
          input.getDimSize(0),
          output.getDimSize(0),
          elements,
          cast<ShapedType>(op.getSendSizes().getType()).getDimSize(0),
          meshes.encode(op.getMeshAttr(), op.getAxes())};
}

std::vector<int64_t>
RaggedAllToAllOp::getDescriptor(const ProgramMeshes &meshes) {
  return encode(describe(*this, meshes));
}

int64_t RaggedAllToAllOp::getScratchBytes(const ProgramMeshes &meshes,
                                          bool onDevice) {
  return scratchBytes(describe(*this, meshes), onDevice);
}

//===----------------------------------------------------------------------===//
// collective_permute
//===----------------------------------------------------------------------===//

std::vector<int64_t>
CollectivePermuteOp::getDescriptor(const ProgramMeshes &meshes) {
  std::optional<std::vector<calls::IndexPair>> pairs;
  if (std::optional<ArrayRef<int64_t>> indices = getPairs()) {
    pairs.emplace();
    for (size_t i = 0; i < indices->size(); i += 2)
      pairs->push_back({(*indices)[i], (*indices)[i + 1]});
  }
  return encode(calls::CollectivePermuteCall{
      encodeNumber(*this), encodeType(getInput().getType()),
      meshes.numberOf(getMeshAttr()), meshes.numberOf(getTargetMeshAttr()),
      cast<ShapedType>(getInput().getType()).getNumElements(),
      static_cast<int64_t>(getShift()), pairs,
      meshes.encode(getMeshAttr(), getSourceAxes()),
      meshes.encode(getTargetMeshAttr(), getTargetAxes())});
}

//===----------------------------------------------------------------------===//
// exchange
//===----------------------------------------------------------------------===//

static ExchangeTraffic countTraffic(ExchangeOp op,
                                    const ProgramMeshes &meshes) {
  MeshAttr source = meshes.get(op.getMeshAttr());
  MeshAttr target = meshes.get(op.getTargetMeshAttr());
  BlockLayout from{{}, source.getDeviceIds()}, to{{}, target.getDeviceIds()};
  SmallVector<int64_t> shape;
  SmallVector<RowWindow> windows;
  auto digitsOf = [](AxesAttr axes, MeshAttr mesh) {
    return llvm::map_to_vector<2>(
        axes.getAxes(), [&](AxisRefAttr axis) { return digitOf(axis, mesh); });
  };
  for (auto dim : op.getDims().getAsRange<ExchangeDimAttr>()) {
    shape.push_back(dim.getSize());
    windows.push_back(
        {dim.getStep(), dim.getOffset(), dim.getDivisor(), dim.getRows()});
    from.dims.push_back(digitsOf(dim.getSource(), source));
    to.dims.push_back(digitsOf(dim.getTarget(), target));
  }
  return exchangeTraffic(shape, source.getNumDevices(), from, to, windows);
}

/// What devices send and receive bounds what they stage of it: see Placer of
/// the runtime's ExchangeMessages.cpp.
static calls::ExchangeCall describe(ExchangeOp op,
                                    const ProgramMeshes &meshes) {
  ExchangeTraffic traffic = countTraffic(op, meshes);
  calls::ExchangeCall call{encodeNumber(op),
                           encodeType(op.getInput().getType()),
                           meshes.numberOf(op.getMeshAttr()),
                           meshes.numberOf(op.getTargetMeshAttr()),
                           {},
                           traffic.packed,
                           traffic.received,
                           op.getHalo()};
  for (auto dim : op.getDims().getAsRange<ExchangeDimAttr>())
    call.dims.push_back(
        {dim.getSize(), dim.getStep(), dim.getOffset(), dim.getDivisor(),
         dim.getRows(), meshes.encode(op.getMeshAttr(), dim.getSource()),
         meshes.encode(op.getTargetMeshAttr(), dim.getTarget())});
  return call;
}

std::vector<int64_t> ExchangeOp::getDescriptor(const ProgramMeshes &meshes) {
  return encode(describe(*this, meshes));
}

int64_t ExchangeOp::getScratchBytes(const ProgramMeshes &meshes,
                                    bool onDevice) {
  return scratchBytes(describe(*this, meshes), onDevice);
}

} // namespace shoal::rt
