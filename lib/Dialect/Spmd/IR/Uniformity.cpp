// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which devices act together in each op, and between which its results differ.

#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::spmd;

using Axes = SmallVector<AxisRefAttr>;

static Axes flatten(ArrayAttr axesPerDim) {
  Axes axes;
  for (auto list : axesPerDim.getAsRange<AxesAttr>())
    llvm::append_range(axes, list.getAxes());
  return axes;
}

static Axes allAxes(Operation *op, FlatSymbolRefAttr symbol) {
  Axes axes;
  if (MeshOp mesh = lookupMesh(op, symbol))
    for (MeshAxisAttr axis : mesh.getMesh().getAxes())
      axes.push_back(AxisRefAttr::get(op->getContext(), axis.getName(),
                                      /*pre_size=*/1, /*size=*/0));
  return axes;
}

// Every device has its own index.
Axes AxisIndexOp::getGroupAxes() { return Axes(getAxes().getAxes()); }
bool AxisIndexOp::communicates() { return false; }
Axes AxisIndexOp::getUniformAxes() { return {}; }
Axes AxisIndexOp::getVaryingAxes() { return getGroupAxes(); }

// Every device has its own part.
Axes AllSliceOp::getGroupAxes() { return flatten(getAxes()); }
bool AllSliceOp::communicates() { return false; }
Axes AllSliceOp::getUniformAxes() { return {}; }
Axes AllSliceOp::getVaryingAxes() { return getGroupAxes(); }

// All devices of the group have the same result.
Axes AllGatherOp::getGroupAxes() { return flatten(getAxes()); }
Axes AllGatherOp::getUniformAxes() { return getGroupAxes(); }
Axes AllGatherOp::getVaryingAxes() { return {}; }

Axes AllReduceOp::getGroupAxes() { return Axes(getAxes().getAxes()); }
Axes AllReduceOp::getUniformAxes() { return getGroupAxes(); }
Axes AllReduceOp::getVaryingAxes() { return {}; }
bool AllReduceOp::reduces() { return true; }

Axes ReduceScatterOp::getGroupAxes() { return flatten(getAxes()); }
Axes ReduceScatterOp::getUniformAxes() { return {}; }
Axes ReduceScatterOp::getVaryingAxes() { return getGroupAxes(); }
bool ReduceScatterOp::reduces() { return true; }

Axes AllToAllOp::getGroupAxes() {
  Axes axes;
  for (auto move : getMoves().getAsRange<MoveAttr>())
    llvm::append_range(axes, move.getAxes().getAxes());
  return axes;
}
Axes AllToAllOp::getUniformAxes() { return {}; }
Axes AllToAllOp::getVaryingAxes() { return getGroupAxes(); }

// Every device gets rows of its own.
Axes RaggedAllToAllOp::getGroupAxes() { return Axes(getAxes().getAxes()); }
Axes RaggedAllToAllOp::getUniformAxes() { return {}; }
Axes RaggedAllToAllOp::getVaryingAxes() { return getGroupAxes(); }

SmallVector<int64_t> CollectivePermuteOp::getReceivers(int64_t p) {
  SmallVector<int64_t> receivers(p, -1);
  if (std::optional<ArrayRef<int64_t>> pairs = getPairs()) {
    for (size_t i = 0; i < pairs->size(); i += 2)
      receivers[(*pairs)[i]] = (*pairs)[i + 1];
    return receivers;
  }
  for (auto [index, receiver] : llvm::enumerate(receivers))
    receiver = static_cast<int64_t>((index + getShift()) % p);
  return receivers;
}

/// Pairs of one index each move nothing.
bool CollectivePermuteOp::communicates() {
  std::optional<ArrayRef<int64_t>> pairs = getPairs();
  if (!pairs || getMeshAttr() != getTargetMeshAttr() ||
      getSourceAxes() != getTargetAxes())
    return true;
  for (size_t i = 0; i < pairs->size(); i += 2)
    if ((*pairs)[i] != (*pairs)[i + 1])
      return true;
  return false;
}

// Between two orders of the devices data may go anywhere.
Axes CollectivePermuteOp::getGroupAxes() {
  return getMeshAttr() == getTargetMeshAttr() ? Axes(getSourceAxes().getAxes())
                                              : allAxes(*this, getMeshAttr());
}
Axes CollectivePermuteOp::getUniformAxes() {
  return Axes(getSourceAxes().getAxes());
}
Axes CollectivePermuteOp::getVaryingAxes() {
  return Axes(getTargetAxes().getAxes());
}
FlatSymbolRefAttr CollectivePermuteOp::getResultMeshAttr() {
  return getTargetMeshAttr();
}

Axes HaloExchangeOp::getGroupAxes() { return Axes(getAxes().getAxes()); }
// A window that does not move is the same rows on all devices.
Axes HaloExchangeOp::getUniformAxes() {
  return getWindow().step == 0 ? getGroupAxes() : Axes();
}
Axes HaloExchangeOp::getVaryingAxes() {
  return getWindow().step == 0 ? Axes() : getGroupAxes();
}

// Who sends a block that several devices have is up to all of them.
Axes ExchangeOp::getGroupAxes() { return allAxes(*this, getMeshAttr()); }
Axes ExchangeOp::getUniformAxes() { return flatten(getSourceAxes()); }
Axes ExchangeOp::getVaryingAxes() { return flatten(getTargetAxes()); }
FlatSymbolRefAttr ExchangeOp::getResultMeshAttr() {
  return getTargetMeshAttr();
}
