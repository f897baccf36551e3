// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "shoal/Dialect/Shoal/IR/SignatureNames.h"
#include "shoal/Sharding/DeviceAssignment.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "shoal/Transforms/Import/Passes.h"
#include "llvm/Support/DebugLog.h"

namespace shoal {
#define GEN_PASS_DEF_RESOLVEANNOTATIONS
#include "shoal/Transforms/Import/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-resolve-annotations"

using namespace mlir;
using namespace shoal;

static PassCounter numResolved(DEBUG_TYPE, "Annotations by GShard resolved");
static PassCounter numMeshes(DEBUG_TYPE, "Meshes made for their device orders");

namespace {

class Resolver {
public:
  explicit Resolver(ModuleOp module) : module(module) {}

  LogicalResult run() {
    SmallVector<Operation *> annotations;
    module.walk([&](Operation *op) {
      if (isa<ReplicateOp, SplitOp, ShardOp>(op))
        annotations.push_back(op);
    });
    auto meshes = module.getOps<MeshOp>();
    if (meshes.empty() && !annotations.empty())
      return annotations.front()->emitOpError(
          "needs a mesh; add one to the module, such as shoal.mesh @mesh = "
          "<[\"x\" = 8]>");
    if (meshes.empty())
      addMeshOfOneDevice();
    if (annotations.empty())
      return success();
    meshOp = *meshes.begin();
    readMesh();
    for (Operation *op : annotations)
      if (failed(resolve(op)))
        return failure();
    return success();
  }

private:
  void addMeshOfOneDevice() {
    MLIRContext *context = module.getContext();
    auto builder = OpBuilder::atBlockBegin(module.getBody());
    auto made = MeshOp::create(
        builder, module.getLoc(), "mesh",
        MeshAttr::get(context, MeshAxisAttr::get(context, "device", 1), {}));
    SymbolTable(module).insert(made);
  }

  void readMesh() {
    mesh.name = meshOp.getSymName();
    mesh.deviceIds = std::vector<int64_t>(meshOp.getMesh().getDeviceIds());
    for (MeshAxisAttr axis : meshOp.getMesh().getAxes())
      mesh.axes.push_back(
          {axis.getName().str(), 1, axis.getSize(), axis.getSize()});
  }

  LogicalResult resolve(Operation *op) {
    FailureOr<ShardingAttr> sharding =
        llvm::TypeSwitch<Operation *, FailureOr<ShardingAttr>>(op)
            .Case([&](ReplicateOp) {
              return ShardingAttr::getReplicated(symbolOf(meshOp), rankOf(op));
            })
            .Case([&](SplitOp split) { return resolveSplit(split); })
            .Case([&](ShardOp shard) { return resolveShard(shard); });
    if (failed(sharding))
      return failure();
    LDBG() << op->getName() << " at " << op->getLoc() << " asks for "
           << *sharding;
    ++numResolved;
    OpBuilder builder(op);
    auto constraint = ShardingConstraintOp::create(
        builder, op->getLoc(), op->getResultTypes(), op->getOperand(0),
        *sharding);
    op->replaceAllUsesWith(constraint);
    op->erase();
    return success();
  }

  FailureOr<ShardingAttr> resolveSplit(SplitOp op) {
    int64_t partitions = op.getNumPartitions();
    // Partition i is on device i: the minor axes count the partitions.
    auto axes = axesOfDigit({1, partitions}, mesh);
    if (mesh.numDevices() % partitions != 0 || !axes) {
      InFlightDiagnostic error =
          op.emitOpError() << "num_partitions: " << partitions
                           << " is not a product of minor axes of the mesh of "
                           << mesh.numDevices() << " devices";
      error.attachNote(meshOp.getLoc()) << "the mesh is here";
      return error;
    }
    std::vector<std::vector<MeshAxis>> dims(rankOf(op));
    dims[op.getDim()] = *axes;
    // On a mesh whose positions are not the devices' numbers, "device i" needs
    // one where they are.
    bool isInOrder = llvm::is_sorted(mesh.deviceIds);
    return shardingOf(dims, isInOrder ? symbolOf(meshOp) : meshWithOrder({}));
  }

  FailureOr<ShardingAttr> resolveShard(ShardOp op) {
    SmallVector<int64_t> tile(
        cast<ShapedType>(op.getDeviceAssignment().getType()).getShape());
    SmallVector<int64_t> devices(op.getDeviceAssignment().getValues<int64_t>());
    FlatSymbolRefAttr symbol = symbolOf(meshOp);
    auto axes = axesOfAssignment(tile, devices, mesh);
    if (!axes) {
      axes = axesInOrder(tile, mesh);
      if (!axes) {
        InFlightDiagnostic error =
            op.emitOpError("device_assignment: its tiles are no products of "
                           "axes of the mesh");
        error.attachNote(meshOp.getLoc()) << "the mesh is here";
        return error;
      }
      symbol = meshWithOrder(devices);
    }
    axes->resize(rankOf(op));
    return shardingOf(*axes, symbol);
  }

  /// The mesh with the same axes and this device order; made where there is
  /// none yet.
  FlatSymbolRefAttr meshWithOrder(ArrayRef<int64_t> devices) {
    for (auto other : module.getOps<MeshOp>())
      if (other.getMesh().getDeviceIds() == devices &&
          other.getMesh().getAxes() == meshOp.getMesh().getAxes())
        return symbolOf(other);
    OpBuilder builder(meshOp);
    builder.setInsertionPointAfter(meshOp);
    SymbolTable symbols(module);
    auto made =
        MeshOp::create(builder, meshOp.getLoc(), meshOp.getSymName(),
                       MeshAttr::get(module.getContext(),
                                     meshOp.getMesh().getAxes(), devices));
    symbols.insert(made);
    LDBG() << "no mesh has that device order; made @" << made.getSymName();
    ++numMeshes;
    return symbolOf(made);
  }

  ShardingAttr shardingOf(ArrayRef<std::vector<MeshAxis>> dims,
                          FlatSymbolRefAttr symbol) {
    MLIRContext *context = module.getContext();
    SmallVector<DimShardingAttr> attrs;
    for (const std::vector<MeshAxis> &axes : dims) {
      SmallVector<AxisRefAttr> refs;
      for (const MeshAxis &axis : axes)
        refs.push_back(AxisRefAttr::get(context, axis.name, axis.pre,
                                        axis.isWhole() ? 0 : axis.size));
      attrs.push_back(DimShardingAttr::get(context, refs, /*is_open=*/false,
                                           /*priority=*/0));
    }
    return ShardingAttr::get(context, symbol, attrs, {}, {});
  }

  static int64_t rankOf(Operation *op) {
    return cast<RankedTensorType>(op->getResult(0).getType()).getRank();
  }
  static FlatSymbolRefAttr symbolOf(MeshOp op) {
    return FlatSymbolRefAttr::get(op.getSymNameAttr());
  }

  ModuleOp module;
  MeshOp meshOp;
  Mesh mesh;
};

/// Values that come into a program or leave it are fully reduced.
LogicalResult verifySignature(FunctionOpInterface function) {
  auto verify = [&](StringRef kind, unsigned i, Attribute attr) {
    auto sharding = dyn_cast_if_present<ShardingAttr>(attr);
    if (!sharding || sharding.getPartial().empty())
      return success();
    return LogicalResult(
        function.emitError()
        << describePlace(function, kind, i) << ": expected no partial axes "
        << "but got \"" << sharding.getPartial()[0].getName() << '"');
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (failed(verify("argument", i, function.getArgAttr(i, kShardingAttr))))
      return failure();
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (failed(verify("result", i, function.getResultAttr(i, kShardingAttr))))
      return failure();
  return success();
}

struct ResolveAnnotations
    : shoal::impl::ResolveAnnotationsBase<ResolveAnnotations> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<FunctionOpInterface>())
      if (failed(verifySignature(function)))
        return signalPassFailure();
    if (failed(Resolver(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
