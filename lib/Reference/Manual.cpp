// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parts of a global program that are written for one device run on as many as
// their mesh has.

#include "Combiner.h"
#include "Models.h"
#include "StridedView.h"

#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/ManualOps.h"
#include "shoal/Reference/Signature.h"
#include <map>

using namespace mlir;

namespace shoal::reference {

namespace {

/// What passes the edge of one manual_computation.
class Edge {
public:
  Edge(ManualComputationOp op, MeshAttr mesh) : op(op), grid(mesh) {}

  /// Each device's shard, over the manual axes alone, of the tensor that it has
  /// outside, zero past its end.
  GridValue enter(GridValue globals, Type local, ShardingAttr sharding) {
    if (globals.size() == 1)
      globals.resize(grid.numDevices(), globals.front());
    Port port = portOf(globals.front().getType(), local, sharding);
    for (auto [size, rows, digits] :
         llvm::zip(port.global.shape, port.local.shape, port.digits))
      size = rows * DeviceGrid::sizeOf(digits);
    for (Tensor &global : globals)
      global = padded(global, port.global);
    GridValue shards = splitArguments(port, globals);
    DeviceGrid::Digits digits = addendDigits(sharding);
    for (auto [device, shard] : llvm::enumerate(shards))
      if (DeviceGrid::indexOver(digits, grid.positionOf(device)) != 0)
        shard = Tensor(shard.getType());
    return shards;
  }

  /// What `numDevices` devices have outside, all of them or only one.
  FailureOr<GridValue> leave(unsigned index, const GridValue &yielded,
                             ShardingAttr sharding, int64_t numDevices) {
    GridValue shards =
        reduceGroups(ReduceKind::Sum, grid, addendDigits(sharding), yielded);
    Port port = portOf(
        resultType(op, index),
        op.getBody().front().getTerminator()->getOperand(index).getType(),
        sharding);
    port.place = "result " + std::to_string(index);
    auto emitError = [&]() { return op.emitOpError(); };
    if (numDevices == 1) {
      FailureOr<Tensor> whole = assembleResult(port, shards, emitError);
      return failed(whole) ? FailureOr<GridValue>() : GridValue{*whole};
    }
    GridValue result(numDevices);
    for (ArrayRef<int64_t> group : groups()) {
      FailureOr<Tensor> whole = assembleResult(port, shards, group, emitError);
      if (failed(whole))
        return failure();
      for (int64_t device : group)
        result[device] = *whole;
    }
    return result;
  }

private:
  /// The devices that differ along the manual axes alone.
  std::vector<SmallVector<int64_t>> groups() {
    DeviceGrid::Digits own = grid.digitsOf(op.getManualAxes().getAxes());
    std::map<int64_t, SmallVector<int64_t>> byPlace;
    for (int64_t device = 0; device < grid.numDevices(); ++device)
      byPlace[DeviceGrid::withIndex(own, grid.positionOf(device), 0)].push_back(
          device);
    std::vector<SmallVector<int64_t>> all;
    all.reserve(byPlace.size());
    for (auto &entry : byPlace)
      all.push_back(std::move(entry.second));
    return all;
  }

  /// The manual axes along which the value outside is a sum.
  DeviceGrid::Digits addendDigits(ShardingAttr sharding) {
    SmallVector<AxisRefAttr> own;
    for (AxisRefAttr axis : sharding.getPartial())
      if (covers(op.getManualAxes().getAxes(), axis, grid.getMesh()))
        own.push_back(axis);
    return grid.digitsOf(own);
  }

  static Tensor padded(const Tensor &tensor, const TensorType &type) {
    if (tensor.getType() == type)
      return tensor;
    Tensor result(type);
    StridedView place = StridedView::whole(type.shape);
    place.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
    scatter(tensor, place, result);
    return result;
  }

  Port portOf(const TensorType &global, Type local, ShardingAttr sharding) {
    Port port{"", "", global, *TensorType::from(local), grid, {}};
    for (ArrayRef<AxisRefAttr> axes :
         splitAxes(sharding, op.getManualAxes(), grid.getMesh()).named)
      port.digits.push_back(grid.digitsOf(axes));
    return port;
  }

  ManualComputationOp op;
  DeviceGrid grid;
};

/// On one device the op is part of a global program, on all of the mesh it
/// stands in another region, whose devices split what they have further.
struct ManualModel
    : RegionOpInterface::ExternalModel<ManualModel, ManualComputationOp> {
  FailureOr<GridValues> evaluateWithRegions(Operation *operation,
                                            int64_t numDevices,
                                            ArrayRef<GridValue> operands,
                                            RunRegion run) const {
    auto op = cast<ManualComputationOp>(operation);
    if (op->getParentOfType<FunctionOpInterface>()->hasAttr(kSpmdAttr))
      return op.emitOpError("has no meaning in a per-device program");
    auto meshOp = SymbolTable::lookupNearestSymbolFrom<MeshOp>(
        operation, op.getMeshAttr());
    int64_t inside = meshOp.getMesh().getNumDevices();
    if (numDevices != 1 &&
        failed(DeviceGrid::lookUp(op, op.getMeshAttr(), numDevices)))
      return failure();
    Edge edge(op, meshOp.getMesh());
    GridValues arguments;
    for (auto [operand, argument, sharding] :
         llvm::zip_equal(operands, op.getBody().getArguments(),
                         op.getInShardings().getAsRange<ShardingAttr>()))
      arguments.push_back(edge.enter(operand, argument.getType(), sharding));
    FailureOr<GridValues> yielded = run(op.getBody(), arguments, inside);
    if (failed(yielded))
      return failure();
    GridValues results;
    for (auto [i, sharding] :
         llvm::enumerate(op.getOutShardings().getAsRange<ShardingAttr>())) {
      FailureOr<GridValue> outside =
          edge.leave(i, (*yielded)[i], sharding, numDevices);
      if (failed(outside))
        return failure();
      results.push_back(std::move(*outside));
    }
    return results;
  }
};

} // namespace

void registerManualModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    ManualComputationOp::attachInterface<ManualModel>(*context);
  });
}

} // namespace shoal::reference
