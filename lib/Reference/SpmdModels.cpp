// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combiner.h"
#include "Exchange.h"
#include "Models.h"

#include "shoal/Dialect/Spmd/IR/Spmd.h"

using namespace mlir;
using namespace shoal::spmd;

namespace shoal::reference {

template <typename Op, auto evaluateFn>
struct GridModel
    : GridOpInterface::ExternalModel<GridModel<Op, evaluateFn>, Op> {
  FailureOr<GridValues> evaluateOnGrid(Operation *op, int64_t numDevices,
                                       ArrayRef<GridValue> operands) const {
    auto typed = cast<Op>(op);
    FailureOr<DeviceGrid> grid =
        DeviceGrid::lookUp(op, typed.getMeshAttr(), numDevices);
    if (failed(grid))
      return failure();
    FailureOr<GridValue> result = evaluateFn(typed, *grid, operands);
    if (failed(result))
      return failure();
    return GridValues{*result};
  }
};

template <typename Op, auto evaluateFn>
static void attachGrid(MLIRContext *context) {
  Op::template attachInterface<GridModel<Op, evaluateFn>>(*context);
}

static FailureOr<DeviceGrid::Digits>
readAxes(Operation *op, const DeviceGrid &grid, AxesAttr axes) {
  if (failed(grid.verifyAxes(op, axes.getAxes())))
    return failure();
  return grid.digitsOf(axes.getAxes());
}

/// The digits of each dimension of a tensor of rank `rank`.
static FailureOr<SmallVector<DeviceGrid::Digits>>
readAxesPerDim(Operation *op, const DeviceGrid &grid, ArrayAttr axes,
               int64_t rank) {
  if (static_cast<int64_t>(axes.size()) != rank)
    return op->emitOpError() << "lists axes for " << axes.size()
                             << " dimensions but the operand has " << rank;
  SmallVector<DeviceGrid::Digits> result;
  for (AxesAttr list : axes.getAsRange<AxesAttr>()) {
    FailureOr<DeviceGrid::Digits> digits = readAxes(op, grid, list);
    if (failed(digits))
      return failure();
    result.push_back(*digits);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Nothing is reduced
//===----------------------------------------------------------------------===//

static FailureOr<GridValue>
evaluateAxisIndex(AxisIndexOp op, const DeviceGrid &grid, ArrayRef<GridValue>) {
  FailureOr<DeviceGrid::Digits> digits = readAxes(op, grid, op.getAxes());
  if (failed(digits))
    return failure();
  GridValue result;
  for (int64_t device = 0; device < grid.numDevices(); ++device) {
    Tensor &index = result.emplace_back(resultType(op));
    index.getMutableElements()[0].i =
        DeviceGrid::indexOver(*digits, grid.positionOf(device));
  }
  return result;
}

static FailureOr<GridValue> evaluateAllSlice(AllSliceOp op,
                                             const DeviceGrid &grid,
                                             ArrayRef<GridValue> operands) {
  auto digits =
      readAxesPerDim(op, grid, op.getAxes(), operands[0][0].getType().rank());
  if (failed(digits))
    return failure();
  SmallVector<DimExchange> dims;
  for (const DeviceGrid::Digits &list : *digits)
    dims.push_back({/*gathered=*/{}, /*split=*/list});
  return exchange(grid, dims, operands[0], resultType(op));
}

static FailureOr<GridValue> evaluateAllGather(AllGatherOp op,
                                              const DeviceGrid &grid,
                                              ArrayRef<GridValue> operands) {
  auto digits =
      readAxesPerDim(op, grid, op.getAxes(), operands[0][0].getType().rank());
  if (failed(digits))
    return failure();
  SmallVector<DimExchange> dims;
  for (const DeviceGrid::Digits &list : *digits)
    dims.push_back({/*gathered=*/list, /*split=*/{}});
  return exchange(grid, dims, operands[0], resultType(op));
}

static FailureOr<GridValue> evaluateAllToAll(AllToAllOp op,
                                             const DeviceGrid &grid,
                                             ArrayRef<GridValue> operands) {
  int64_t rank = operands[0][0].getType().rank();
  SmallVector<DimExchange> dims(rank);
  for (MoveAttr move : op.getMoves().getAsRange<MoveAttr>()) {
    FailureOr<DeviceGrid::Digits> digits = readAxes(op, grid, move.getAxes());
    if (failed(digits))
      return failure();
    for (int64_t dim : {move.getSourceDim(), move.getTargetDim()})
      if (dim < 0 || dim >= rank)
        return op.emitOpError() << "moves dimension " << dim
                                << " but the operand has rank " << rank;
    llvm::append_range(dims[move.getSourceDim()].gathered, *digits);
    llvm::append_range(dims[move.getTargetDim()].split, *digits);
  }
  return exchange(grid, dims, operands[0], resultType(op));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// What every device has after an all_reduce over `digits`: its group's
/// reduction in the order of their index.
static FailureOr<GridValue> reduceGroups(Operation *op, ReduceKind kind,
                                         const DeviceGrid &grid,
                                         ArrayRef<DeviceGrid::Digit> digits,
                                         const GridValue &input) {
  const TensorType &type = input[0].getType();
  if (!Combiner::exists(kind, type.element))
    return op->emitOpError()
           << "combiner \"" << stringifyReduceKind(kind) << "\" needs integers";
  Combiner combiner(kind, type.element);
  GridValue result(grid.numDevices());
  int64_t groupSize = DeviceGrid::sizeOf(digits);
  for (int64_t position = 0; position < grid.numDevices(); ++position) {
    int64_t first = DeviceGrid::withIndex(digits, position, 0);
    Tensor &own = result[grid.deviceAt(position)];
    if (first != position) { // shares its group's result
      own = result[grid.deviceAt(first)];
      continue;
    }
    own = Tensor(type);
    MutableArrayRef<Scalar> elements = own.getMutableElements();
    llvm::fill(elements, combiner.identity());
    for (int64_t i = 0; i < groupSize; ++i) {
      int64_t member = DeviceGrid::withIndex(digits, position, i);
      ArrayRef<Scalar> addend = input[grid.deviceAt(member)].getElements();
      for (auto [element, value] : llvm::zip_equal(elements, addend))
        element = combiner.combine(element, value);
    }
    for (Scalar &element : elements)
      element = combiner.finish(element);
  }
  return result;
}

static FailureOr<GridValue> evaluateAllReduce(AllReduceOp op,
                                              const DeviceGrid &grid,
                                              ArrayRef<GridValue> operands) {
  FailureOr<DeviceGrid::Digits> digits = readAxes(op, grid, op.getAxes());
  if (failed(digits))
    return failure();
  return reduceGroups(op, op.getKind(), grid, *digits, operands[0]);
}

static FailureOr<GridValue>
evaluateReduceScatter(ReduceScatterOp op, const DeviceGrid &grid,
                      ArrayRef<GridValue> operands) {
  auto digits =
      readAxesPerDim(op, grid, op.getAxes(), operands[0][0].getType().rank());
  if (failed(digits))
    return failure();
  DeviceGrid::Digits all;
  SmallVector<DimExchange> dims;
  for (const DeviceGrid::Digits &list : *digits) {
    llvm::append_range(all, list);
    dims.push_back({/*gathered=*/{}, /*split=*/list});
  }
  FailureOr<GridValue> reduced =
      reduceGroups(op, op.getKind(), grid, all, operands[0]);
  if (failed(reduced))
    return failure();
  return exchange(grid, dims, *reduced, resultType(op));
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
  auto from = readAxes(op, source, op.getSourceAxes());
  auto to = readAxes(op, *target, op.getTargetAxes());
  if (failed(from) || failed(to))
    return failure();
  int64_t size = DeviceGrid::sizeOf(*from);
  if (size != DeviceGrid::sizeOf(*to))
    return op.emitOpError()
           << "source axes have " << size << " devices but target axes have "
           << DeviceGrid::sizeOf(*to);
  GridValue result(source.numDevices());
  std::vector<bool> received(source.numDevices(), false);
  for (int64_t position = 0; position < source.numDevices(); ++position) {
    int64_t index = DeviceGrid::indexOver(*from, position);
    int64_t receiver =
        target->deviceAt(DeviceGrid::withIndex(*to, position, index));
    if (received[receiver])
      return op.emitOpError() << "device " << receiver << " receives twice";
    received[receiver] = true;
    result[receiver] = operands[0][source.deviceAt(position)];
  }
  return result;
}

void registerSpmdModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, SpmdDialect *) {
    attachGrid<AxisIndexOp, evaluateAxisIndex>(context);
    attachGrid<AllSliceOp, evaluateAllSlice>(context);
    attachGrid<AllGatherOp, evaluateAllGather>(context);
    attachGrid<AllReduceOp, evaluateAllReduce>(context);
    attachGrid<ReduceScatterOp, evaluateReduceScatter>(context);
    attachGrid<AllToAllOp, evaluateAllToAll>(context);
    attachGrid<CollectivePermuteOp, evaluatePermute>(context);
  });
}

} // namespace shoal::reference
