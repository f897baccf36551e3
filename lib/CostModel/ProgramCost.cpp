// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/CostModel/ProgramCost.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/SymbolTable.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
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

static MeshAttr lookupMesh(Operation *op, FlatSymbolRefAttr symbol) {
  auto mesh = SymbolTable::lookupNearestSymbolFrom<MeshOp>(op, symbol);
  return mesh ? mesh.getMesh() : MeshAttr();
}

static std::string printAxes(ArrayRef<AxisRefAttr> axes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '{';
  llvm::interleaveComma(axes, os, [&](AxisRefAttr axis) {
    os << '"' << axis.getName() << '"';
    if (!axis.isWhole())
      os << ":(" << axis.getPreSize() << ')' << axis.getSize();
  });
  os << '}';
  return text;
}

static int64_t countDevices(ArrayRef<AxisRefAttr> axes, MeshAttr mesh) {
  int64_t count = 1;
  for (AxisRefAttr axis : axes)
    count *= axis.getSizeIn(mesh);
  return count;
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

static int64_t countBytesSent(Operation *op, int64_t p) {
  int64_t in = sizeInBytes(op->getOperand(0).getType());
  int64_t out = sizeInBytes(op->getResult(0).getType());
  return TypeSwitch<Operation *, int64_t>(op)
      .Case<spmd::AllGatherOp>(
          [&](auto) { return llvm::divideCeil(out * (p - 1), p); })
      .Case<spmd::AllReduceOp>(
          [&](auto) { return llvm::divideCeil(2 * in * (p - 1), p); })
      .Case<spmd::CollectivePermuteOp>([&](auto) { return in; })
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

static CollectiveCost describe(Operation *op, ArrayRef<AxisRefAttr> axes) {
  CollectiveCost cost;
  cost.op = op;
  cost.kind = op->getName().stripDialect();
  cost.axes = printAxes(axes);
  if (auto permute = dyn_cast<spmd::CollectivePermuteOp>(op))
    cost.axes += " -> " + printAxes(permute.getTargetAxes().getAxes());
  if (auto mesh = lookupMesh(op, op->getAttrOfType<FlatSymbolRefAttr>("mesh")))
    cost.groupSize = countDevices(axes, mesh);
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
    double flops = op.getFactorRule().flops;
    cost.flops += flops;
    if (isa<EinsumOp>(op.getOperation()))
      cost.einsumFlops += flops;
  });
  return cost;
}
