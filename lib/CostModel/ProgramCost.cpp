// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/CostModel/ProgramCost.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/SymbolTable.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Sharding/ExchangeCost.h"
#include "shoal/Sharding/RowMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace shoal;

int64_t shoal::sizeInBytes(Type type) {
  auto shaped = cast<ShapedType>(type);
  unsigned bits = shaped.getElementType().getIntOrFloatBitWidth();
  return shaped.getNumElements() * llvm::divideCeil(bits, 8u);
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static MeshAttr meshOf(Operation *op, StringRef name = "mesh") {
  auto symbol = op->getAttrOfType<FlatSymbolRefAttr>(name);
  MeshOp mesh = symbol ? lookupMesh(op, symbol) : MeshOp();
  return mesh ? mesh.getMesh() : MeshAttr();
}

static std::string printAxes(ArrayRef<AxisRefAttr> axes, Operation *op) {
  return toString(AxesAttr::get(op->getContext(), axes));
}

static SmallVector<AxisRefAttr> flatten(ArrayAttr axesPerDim) {
  SmallVector<AxisRefAttr> flat;
  for (auto axes : axesPerDim.getAsRange<AxesAttr>())
    llvm::append_range(flat, axes.getAxes());
  return flat;
}

/// The axes of the group of `op`; nothing for an op that sends nothing.
static std::optional<SmallVector<AxisRefAttr>> getGroupAxes(Operation *op) {
  using Axes = SmallVector<AxisRefAttr>;
  return TypeSwitch<Operation *, std::optional<Axes>>(op)
      .Case<spmd::AllGatherOp, spmd::ReduceScatterOp>(
          [](auto op) { return flatten(op.getAxes()); })
      .Case<spmd::AllReduceOp, spmd::HaloExchangeOp>(
          [](auto op) { return Axes(op.getAxes().getAxes()); })
      .Case<spmd::AllToAllOp>([](auto op) {
        Axes axes;
        for (auto move : op.getMoves().template getAsRange<spmd::MoveAttr>())
          llvm::append_range(axes, move.getAxes().getAxes());
        return axes;
      })
      .Case<spmd::CollectivePermuteOp>(
          [](auto op) { return Axes(op.getSourceAxes().getAxes()); })
      .Case<spmd::ExchangeOp>([](auto op) {
        Axes axes = flatten(op.getSourceAxes());
        for (AxisRefAttr axis : flatten(op.getTargetAxes()))
          if (llvm::none_of(axes, [&](AxisRefAttr other) {
                return overlap(axis, other, meshOf(op));
              }))
            axes.push_back(axis);
        return axes;
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// What the device receives that lacks most of its window.
static int64_t countHaloBytes(spmd::HaloExchangeOp op, int64_t p) {
  RowWindow window = op.getWindow();
  if (window.rows == 0)
    return 0;
  return lackingRows(window, op.getNumRows(), p) *
         (sizeInBytes(op.getResult().getType()) / window.rows);
}

static BlockLayout layoutOf(ArrayAttr axesPerDim, MeshAttr mesh) {
  BlockLayout layout;
  layout.deviceIds = mesh.getDeviceIds();
  for (auto axes : axesPerDim.getAsRange<AxesAttr>()) {
    auto &digits = layout.dims.emplace_back();
    for (AxisRefAttr axis : axes.getAxes())
      digits.push_back(digitOf(axis, mesh));
  }
  return layout;
}

static int64_t countExchangedBytes(spmd::ExchangeOp op) {
  MeshAttr source = meshOf(op), target = meshOf(op, "target_mesh");
  Type element = cast<ShapedType>(op.getResult().getType()).getElementType();
  return exchangedElements(op.getShape(), source.getNumDevices(),
                           layoutOf(op.getSourceAxes(), source),
                           layoutOf(op.getTargetAxes(), target)) *
         sizeInBytes(RankedTensorType::get({}, element));
}

static int64_t countBytesSent(Operation *op, int64_t p) {
  int64_t in = sizeInBytes(op->getOperand(0).getType());
  int64_t out = sizeInBytes(op->getResult(0).getType());
  return TypeSwitch<Operation *, int64_t>(op)
      .Case<spmd::AllGatherOp>(
          [&](auto) { return llvm::divideCeil(out * (p - 1), p); })
      .Case<spmd::AllReduceOp>(
          [&](auto) { return llvm::divideCeil(2 * in * (p - 1), p); })
      .Case<spmd::CollectivePermuteOp>([&](auto) { return in; })
      .Case<spmd::ExchangeOp>(countExchangedBytes)
      .Case<spmd::HaloExchangeOp>(
          [&](auto op) { return countHaloBytes(op, p); })
      .Default([&](auto) { return llvm::divideCeil(in * (p - 1), p); });
}

static std::string describeLocation(Location loc) {
  auto file = loc->findInstanceOf<FileLineColLoc>();
  if (!file)
    return "";
  return llvm::formatv("{0}:{1}:{2}", file.getFilename().getValue(),
                       file.getLine(), file.getColumn());
}

/// The group's axes; for what goes between two lists, both.
static std::string describeAxes(Operation *op, ArrayRef<AxisRefAttr> axes) {
  if (auto permute = dyn_cast<spmd::CollectivePermuteOp>(op))
    return printAxes(axes, op) + " -> " +
           printAxes(permute.getTargetAxes().getAxes(), op);
  if (auto exchange = dyn_cast<spmd::ExchangeOp>(op))
    return printAxes(flatten(exchange.getSourceAxes()), op) + " -> " +
           printAxes(flatten(exchange.getTargetAxes()), op);
  return printAxes(axes, op);
}

static CollectiveCost describe(Operation *op, ArrayRef<AxisRefAttr> axes) {
  CollectiveCost cost;
  cost.op = op;
  cost.runs = countRuns(op);
  cost.kind = op->getName().stripDialect();
  cost.axes = describeAxes(op, axes);
  if (MeshAttr mesh = meshOf(op))
    cost.groupSize = std::min(sizeOf(axes, mesh), mesh.getNumDevices());
  cost.bytes = countBytesSent(op, cost.groupSize);
  cost.location = describeLocation(op->getLoc());
  if (auto why = op->getAttrOfType<StringAttr>("why"))
    cost.reason = why.getValue();
  return cost;
}

SmallVector<CollectiveCost> shoal::listCollectives(Operation *root) {
  SmallVector<CollectiveCost> list;
  root->walk([&](Operation *op) {
    if (auto axes = getGroupAxes(op))
      list.push_back(describe(op, *axes));
  });
  return list;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

ArithmeticCost shoal::countArithmetic(Operation *root) {
  ArithmeticCost cost;
  root->walk([&](FactorRuleOpInterface op) {
    double flops = op.getFactorRule().flops * countRuns(op);
    cost.flops += flops;
    if (isa<EinsumOp>(op.getOperation()))
      cost.einsumFlops += flops;
  });
  return cost;
}
