// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parts of a global program that are written for one device run on as many as
// their mesh has.

#include "Models.h"

#include "shoal/Dialect/Shoal/IR/ManualOps.h"
#include "shoal/Reference/Signature.h"

using namespace mlir;

namespace shoal::reference {

namespace {

/// What passes the edge of one manual_computation.
class Edge {
public:
  Edge(ManualComputationOp op, MeshAttr mesh) : op(op), grid(mesh) {}

  /// The tensor `global` as shards over the manual axes alone.
  GridValue enter(const Tensor &global, Type local, ShardingAttr sharding) {
    Port port = portOf(global.getType(), local, sharding);
    return splitArgument(port, global);
  }

  FailureOr<Tensor> leave(unsigned index, const GridValue &shards,
                          ShardingAttr sharding) {
    Port port = portOf(
        resultType(op, index),
        op.getBody().front().getTerminator()->getOperand(index).getType(),
        sharding);
    port.place = "result " + std::to_string(index);
    return assembleResult(port, shards, [&]() { return op.emitOpError(); });
  }

private:
  Port portOf(const TensorType &global, Type local, ShardingAttr sharding) {
    Port port{"", "", global, *TensorType::from(local), grid, {}};
    for (ArrayRef<AxisRefAttr> axes :
         splitAxes(sharding, op.getManualAxes()).named)
      port.digits.push_back(grid.digitsOf(axes));
    return port;
  }

  ManualComputationOp op;
  DeviceGrid grid;
};

struct ManualModel
    : RegionOpInterface::ExternalModel<ManualModel, ManualComputationOp> {
  FailureOr<GridValues> evaluateWithRegions(Operation *operation,
                                            int64_t numDevices,
                                            ArrayRef<GridValue> operands,
                                            RunRegion run) const {
    auto op = cast<ManualComputationOp>(operation);
    if (numDevices != 1)
      return op.emitOpError("has no meaning in a per-device program");
    auto meshOp = SymbolTable::lookupNearestSymbolFrom<MeshOp>(
        operation, op.getMeshAttr());
    Edge edge(op, meshOp.getMesh());
    GridValues arguments;
    for (auto [operand, argument, sharding] :
         llvm::zip_equal(operands, op.getBody().getArguments(),
                         op.getInShardings().getAsRange<ShardingAttr>()))
      arguments.push_back(
          edge.enter(operand.front(), argument.getType(), sharding));
    FailureOr<GridValues> yielded =
        run(op.getBody(), arguments, meshOp.getMesh().getNumDevices());
    if (failed(yielded))
      return failure();
    GridValues results;
    for (auto [i, sharding] :
         llvm::enumerate(op.getOutShardings().getAsRange<ShardingAttr>())) {
      FailureOr<Tensor> whole = edge.leave(i, (*yielded)[i], sharding);
      if (failed(whole))
        return failure();
      results.push_back({*whole});
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
