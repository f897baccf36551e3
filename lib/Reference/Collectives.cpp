// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combiner.h"
#include "Exchange.h"
#include "GridModel.h"
#include "Models.h"
#include "RowExchange.h"

#include "shoal/Dialect/Spmd/IR/Spmd.h"

using namespace mlir;
using namespace shoal::spmd;

namespace shoal::reference {

static DeviceGrid::Digits readAxes(const DeviceGrid &grid, AxesAttr axes) {
  return grid.digitsOf(axes.getAxes());
}

//===----------------------------------------------------------------------===//
// Nothing is reduced
//===----------------------------------------------------------------------===//

static GridValue evaluateAxisIndex(AxisIndexOp op, const DeviceGrid &grid,
                                   ArrayRef<GridValue>) {
  DeviceGrid::Digits digits = readAxes(grid, op.getAxes());
  GridValue result;
  for (int64_t device = 0; device < grid.numDevices(); ++device) {
    Tensor &index = result.emplace_back(resultType(op));
    index.getMutableElements()[0].i =
        DeviceGrid::indexOver(digits, grid.positionOf(device));
  }
  return result;
}

static GridValue evaluateAllSlice(AllSliceOp op, const DeviceGrid &grid,
                                  ArrayRef<GridValue> operands) {
  SmallVector<DimExchange> dims;
  for (AxesAttr axes : op.getAxes().getAsRange<AxesAttr>())
    dims.push_back({/*gathered=*/{}, /*split=*/readAxes(grid, axes)});
  return exchange(grid, dims, operands[0], resultType(op));
}

static GridValue evaluateAllGather(AllGatherOp op, const DeviceGrid &grid,
                                   ArrayRef<GridValue> operands) {
  SmallVector<DimExchange> dims;
  for (AxesAttr axes : op.getAxes().getAsRange<AxesAttr>())
    dims.push_back({/*gathered=*/readAxes(grid, axes), /*split=*/{}});
  return exchange(grid, dims, operands[0], resultType(op));
}

static GridValue evaluateAllToAll(AllToAllOp op, const DeviceGrid &grid,
                                  ArrayRef<GridValue> operands) {
  SmallVector<DimExchange> dims(operands[0][0].getType().rank());
  for (MoveAttr move : op.getMoves().getAsRange<MoveAttr>()) {
    DeviceGrid::Digits digits = readAxes(grid, move.getAxes());
    llvm::append_range(dims[move.getSourceDim()].gathered, digits);
    llvm::append_range(dims[move.getTargetDim()].split, digits);
  }
  return exchange(grid, dims, operands[0], resultType(op));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The reduction of one group, whose first member is at `position`, in the
/// order of the members' index over `digits`.
static Tensor reduceGroup(const Combiner &combiner, const DeviceGrid &grid,
                          ArrayRef<DeviceGrid::Digit> digits, int64_t position,
                          const GridValue &input) {
  Tensor result(input[0].getType());
  MutableArrayRef<Scalar> elements = result.getMutableElements();
  llvm::fill(elements, combiner.identity());
  for (int64_t i = 0; i < DeviceGrid::sizeOf(digits); ++i) {
    int64_t member = DeviceGrid::withIndex(digits, position, i);
    ArrayRef<Scalar> addend = input[grid.deviceAt(member)].getElements();
    for (auto [element, value] : llvm::zip_equal(elements, addend))
      element = combiner.combine(element, value);
  }
  for (Scalar &element : elements)
    element = combiner.finish(element);
  return result;
}

GridValue reduceGroups(ReduceKind kind, const DeviceGrid &grid,
                       ArrayRef<DeviceGrid::Digit> digits,
                       const GridValue &input) {
  Combiner combiner(kind, input[0].getElementType());
  GridValue result(grid.numDevices());
  for (int64_t position = 0; position < grid.numDevices(); ++position) {
    // The first member of a group comes before the others.
    int64_t first = DeviceGrid::withIndex(digits, position, 0);
    result[grid.deviceAt(position)] =
        first == position ? reduceGroup(combiner, grid, digits, position, input)
                          : result[grid.deviceAt(first)];
  }
  return result;
}

static GridValue evaluateAllReduce(AllReduceOp op, const DeviceGrid &grid,
                                   ArrayRef<GridValue> operands) {
  return reduceGroups(op.getKind(), grid, readAxes(grid, op.getAxes()),
                      operands[0]);
}

static GridValue evaluateReduceScatter(ReduceScatterOp op,
                                       const DeviceGrid &grid,
                                       ArrayRef<GridValue> operands) {
  DeviceGrid::Digits all;
  SmallVector<DimExchange> dims;
  for (AxesAttr axes : op.getAxes().getAsRange<AxesAttr>()) {
    dims.push_back({/*gathered=*/{}, /*split=*/readAxes(grid, axes)});
    llvm::append_range(all, dims.back().split);
  }
  GridValue reduced = reduceGroups(op.getKind(), grid, all, operands[0]);
  return exchange(grid, dims, reduced, resultType(op));
}

//===----------------------------------------------------------------------===//
// Collective permute
//===----------------------------------------------------------------------===//

static FailureOr<GridValue> evaluatePermute(CollectivePermuteOp op,
                                            const DeviceGrid &source,
                                            ArrayRef<GridValue> operands) {
  FailureOr<DeviceGrid> target =
      DeviceGrid::lookUp(op, op.getTargetMeshAttr(), source.numDevices());
  if (failed(target))
    return failure();
  DeviceGrid::Digits from = readAxes(source, op.getSourceAxes());
  DeviceGrid::Digits to = readAxes(*target, op.getTargetAxes());
  SmallVector<int64_t> receivers = op.getReceivers(DeviceGrid::sizeOf(from));
  GridValue result(source.numDevices(), Tensor(resultType(op))); // zeros
  for (int64_t position = 0; position < source.numDevices(); ++position) {
    int64_t index = receivers[DeviceGrid::indexOver(from, position)];
    if (index < 0)
      continue;
    int64_t receiver =
        target->deviceAt(DeviceGrid::withIndex(to, position, index));
    result[receiver] = operands[0][source.deviceAt(position)];
  }
  return result;
}

void registerCollectivesModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, SpmdDialect *) {
    attachGrid<AxisIndexOp, evaluateAxisIndex>(context);
    attachGrid<AllSliceOp, evaluateAllSlice>(context);
    attachGrid<AllGatherOp, evaluateAllGather>(context);
    attachGrid<AllReduceOp, evaluateAllReduce>(context);
    attachGrid<ReduceScatterOp, evaluateReduceScatter>(context);
    attachGrid<AllToAllOp, evaluateAllToAll>(context);
    attachGrid<CollectivePermuteOp, evaluatePermute>(context);
    attachGrid<HaloExchangeOp, evaluateHaloExchange>(context);
    attachGrid<ExchangeOp, evaluateExchange>(context);
  });
}

} // namespace shoal::reference
