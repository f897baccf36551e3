// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What each collective sends, and between whom.

#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Sharding/ExchangeCost.h"
#include "shoal/Support/CollectiveBytes.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::spmd;

std::string spmd::describeAxes(MLIRContext *context,
                               ArrayRef<AxisRefAttr> axes) {
  return toString(AxesAttr::get(context, axes));
}

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// A bool has one byte.
static int64_t elementBytes(Value value) {
  return llvm::divideCeil(typeOf(value).getElementTypeBitWidth(), 8u);
}

static int64_t countBytes(Value value) {
  return typeOf(value).getNumElements() * elementBytes(value);
}

static MeshAttr meshOf(Operation *op, FlatSymbolRefAttr symbol) {
  return lookupMesh(op, symbol).getMesh();
}

template <typename Op>
static int64_t groupSize(Op op) {
  return sizeOf(op.getGroupAxes(), meshOf(op, op.getMeshAttr()));
}

int64_t AllGatherOp::countBytes() {
  MeshAttr mesh = meshOf(*this, getMeshAttr());
  SmallVector<int64_t> shards;
  for (auto axes : getAxes().getAsRange<AxesAttr>())
    shards.push_back(sizeOf(axes.getAxes(), mesh));
  return elementBytes(getInput()) *
         support::allGatherSize(typeOf(getResult()).getShape(),
                                typeOf(getInput()).getShape(), shards);
}

int64_t AllReduceOp::countBytes() {
  return support::allReduceSize(::countBytes(getInput()), groupSize(*this));
}

int64_t ReduceScatterOp::countBytes() {
  return support::reduceScatterSize(::countBytes(getResult()),
                                    groupSize(*this));
}

int64_t AllToAllOp::countBytes() {
  MeshAttr mesh = meshOf(*this, getMeshAttr());
  SmallVector<int64_t> cuts(typeOf(getInput()).getRank(), 1);
  for (auto move : getMoves().getAsRange<MoveAttr>())
    cuts[move.getTargetDim()] *= sizeOf(move.getAxes().getAxes(), mesh);
  return elementBytes(getInput()) *
         support::allToAllSize(typeOf(getInput()).getShape(), cuts,
                               groupSize(*this));
}

std::optional<int64_t> RaggedAllToAllOp::countMeanRows() {
  int64_t most = std::min(typeOf(getInput()).getDimSize(0),
                          typeOf(getOutput()).getDimSize(0));
  return getMeanRows().value_or(most);
}

int64_t RaggedAllToAllOp::countBytes() {
  int64_t rows = typeOf(getOutput()).getDimSize(0);
  int64_t row = rows ? ::countBytes(getOutput()) / rows : 0;
  return support::raggedAllToAllSize(*countMeanRows() * row, groupSize(*this));
}

int64_t CollectivePermuteOp::countBytes() {
  return communicates() ? ::countBytes(getInput()) : 0;
}

std::string CollectivePermuteOp::describeAxes() {
  return toString(getSourceAxes()) + " -> " + toString(getTargetAxes());
}

/// What the device receives that lacks most of its window.
int64_t HaloExchangeOp::countBytes() {
  RowWindow window = getWindow();
  if (window.rows == 0)
    return 0;
  return lackingRows(window, getNumRows(), groupSize(*this)) *
         (::countBytes(getResult()) / window.rows);
}

static BlockLayout layoutOver(ArrayAttr axesPerDim, MeshAttr mesh) {
  BlockLayout layout;
  layout.deviceIds = mesh.getDeviceIds();
  for (auto axes : axesPerDim.getAsRange<AxesAttr>()) {
    auto &digits = layout.dims.emplace_back();
    for (AxisRefAttr axis : axes.getAxes())
      digits.push_back(digitOf(axis, mesh));
  }
  return layout;
}

int64_t ExchangeOp::countBytes() {
  MeshAttr source = meshOf(*this, getMeshAttr());
  MeshAttr target = meshOf(*this, getTargetMeshAttr());
  return elementBytes(getInput()) *
         exchangedElements(getShape(), source.getNumDevices(),
                           layoutOver(getSourceAxes(), source),
                           layoutOver(getTargetAxes(), target));
}

std::string ExchangeOp::describeAxes() {
  auto describe = [&](ArrayAttr axesPerDim) {
    SmallVector<AxisRefAttr> flat;
    for (auto axes : axesPerDim.getAsRange<AxesAttr>())
      llvm::append_range(flat, axes.getAxes());
    return spmd::describeAxes(getContext(), flat);
  };
  return describe(getSourceAxes()) + " -> " + describe(getTargetAxes());
}

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

CollectiveKind AllGatherOp::getCollectiveKind() {
  return CollectiveKind::AllGather;
}
CollectiveKind AllReduceOp::getCollectiveKind() {
  return CollectiveKind::AllReduce;
}
CollectiveKind ReduceScatterOp::getCollectiveKind() {
  return CollectiveKind::ReduceScatter;
}
CollectiveKind AllToAllOp::getCollectiveKind() {
  return CollectiveKind::AllToAll;
}
CollectiveKind RaggedAllToAllOp::getCollectiveKind() {
  return CollectiveKind::AllToAll;
}
CollectiveKind CollectivePermuteOp::getCollectiveKind() {
  return CollectiveKind::Permute;
}
CollectiveKind HaloExchangeOp::getCollectiveKind() {
  return CollectiveKind::Permute;
}
CollectiveKind ExchangeOp::getCollectiveKind() {
  return CollectiveKind::Permute;
}
