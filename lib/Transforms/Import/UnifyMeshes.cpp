// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/WrittenShardings.h"
#include "shoal/Sharding/DeviceAssignment.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "shoal/Transforms/Import/Passes.h"
#include "llvm/Support/DebugLog.h"

namespace shoal {
#define GEN_PASS_DEF_UNIFYMESHES
#include "shoal/Transforms/Import/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-unify-meshes"

using namespace mlir;
using namespace shoal;

static PassCounter numUnified(DEBUG_TYPE,
                              "Meshes written by the axes of the first");

/// Axes as (sub-)axes of another mesh. Positions of both meshes count alike, so
/// that an axis is a digit of the position, whatever it is called.
static std::optional<SmallVector<AxisRefAttr>>
translate(ArrayRef<AxisRefAttr> axes, MeshAttr from, const Mesh &to) {
  SmallVector<AxisRefAttr> result;
  for (AxisRefAttr axis : axes) {
    auto parts = axesOfDigit(digitOf(axis, from), to);
    if (!parts)
      return std::nullopt;
    for (const MeshAxis &part : *parts)
      result.push_back(AxisRefAttr::get(axis.getContext(), part.name, part.pre,
                                        part.isWhole() ? 0 : part.size));
  }
  return result;
}

static Mesh toPlainMesh(MeshOp op) {
  Mesh mesh;
  for (MeshAxisAttr axis : op.getMesh().getAxes())
    mesh.axes.push_back(
        {axis.getName().str(), 1, axis.getSize(), axis.getSize()});
  return mesh;
}

static FlatSymbolRefAttr symbolOf(MeshOp op) {
  return FlatSymbolRefAttr::get(op.getSymNameAttr());
}

namespace {

/// Rewrites what is said over one mesh by the axes of the first.
class MeshRewriter {
public:
  MeshRewriter(MeshOp first, MeshOp other)
      : first(first), other(other), target(toPlainMesh(first)),
        from(other.getMesh()), symbol(symbolOf(other)) {
    bool isReordered = first.getMesh().getDeviceIds() != from.getDeviceIds();
    newSymbol = isReordered ? symbol : symbolOf(first);
    addReplacements();
  }

  LogicalResult run(ModuleOp module);

private:
  LogicalResult checkAxes();
  void addReplacements();
  LogicalResult rewrite(Operation *op);
  SmallVector<AxisRefAttr> rewrite(ArrayRef<AxisRefAttr> axes);
  ShardingAttr rewrite(ShardingAttr sharding);

  MeshOp first, other;
  Mesh target;
  MeshAttr from;
  FlatSymbolRefAttr symbol, newSymbol;
  /// Of shardings, which name their mesh, and of all else that an op says of
  /// the mesh that it names.
  AttrTypeReplacer shardings, axes;
  /// An axis met that is none of the first mesh.
  AxisRefAttr unknown;
};

} // namespace

/// As many devices, and every axis is to be had. Sub-axes are checked where
/// they are named.
LogicalResult MeshRewriter::checkAxes() {
  int64_t devices = from.getNumDevices();
  if (devices != first.getMesh().getNumDevices()) {
    InFlightDiagnostic error = other.emitError()
                               << "mesh @" << other.getSymName() << " has "
                               << devices << " devices but mesh @"
                               << first.getSymName() << " has "
                               << first.getMesh().getNumDevices();
    error.attachNote(first.getLoc()) << "the first mesh is here";
    return error;
  }
  for (MeshAxisAttr axis : from.getAxes()) {
    auto whole = AxisRefAttr::get(axis.getContext(), axis.getName(), 1, 0);
    if (translate(whole, from, target))
      continue;
    InFlightDiagnostic error =
        other.emitError() << "mesh @" << other.getSymName() << ": axis \""
                          << axis.getName() << "\" of size " << axis.getSize()
                          << " is no product of (sub-)axes of mesh @"
                          << first.getSymName();
    error.attachNote(first.getLoc()) << "the first mesh is here";
    return error;
  }
  return success();
}

SmallVector<AxisRefAttr> MeshRewriter::rewrite(ArrayRef<AxisRefAttr> axes) {
  SmallVector<AxisRefAttr> all;
  for (AxisRefAttr axis : axes) {
    if (auto parts = translate(axis, from, target))
      llvm::append_range(all, *parts);
    else
      unknown = axis;
  }
  return all;
}

ShardingAttr MeshRewriter::rewrite(ShardingAttr sharding) {
  MLIRContext *context = sharding.getContext();
  SmallVector<DimShardingAttr> dims;
  for (DimShardingAttr dim : sharding.getDims())
    dims.push_back(DimShardingAttr::get(context, rewrite(dim.getAxes()),
                                        dim.getIsOpen(), dim.getPriority()));
  return ShardingAttr::get(context, newSymbol, dims,
                           rewrite(sharding.getReplicated()),
                           rewrite(sharding.getPartial()));
}

void MeshRewriter::addReplacements() {
  auto replaceSharding = [this](ShardingAttr sharding)
      -> std::optional<std::pair<Attribute, WalkResult>> {
    Attribute result =
        sharding.getMesh() == symbol ? rewrite(sharding) : sharding;
    return std::make_pair(result, WalkResult::skip());
  };
  shardings.addReplacement(replaceSharding);
  axes.addReplacement(replaceSharding);
  axes.addReplacement(
      [this](AxesAttr list) -> std::optional<std::pair<Attribute, WalkResult>> {
        Attribute result =
            AxesAttr::get(list.getContext(), rewrite(list.getAxes()));
        return std::make_pair(result, WalkResult::skip());
      });
  axes.addReplacement([this](FlatSymbolRefAttr name) {
    return name == symbol ? newSymbol : name;
  });
}

LogicalResult MeshRewriter::rewrite(Operation *op) {
  keepWrittenShardings(op, symbol);
  bool isOverMesh = op->getAttrOfType<FlatSymbolRefAttr>("mesh") == symbol;
  (isOverMesh ? axes : shardings).replaceElementsIn(op);
  if (!unknown)
    return success();
  InFlightDiagnostic error = op->emitOpError()
                             << "axis \"" << unknown.getName() << "\":("
                             << unknown.getPreSize() << ")" << unknown.getSize()
                             << " of mesh @" << symbol.getValue()
                             << " is no product of (sub-)axes of mesh @"
                             << first.getSymName();
  error.attachNote(first.getLoc()) << "the first mesh is here";
  return error;
}

LogicalResult MeshRewriter::run(ModuleOp module) {
  if (failed(checkAxes()))
    return failure();
  WalkResult result = module.walk([&](Operation *op) {
    return op == other || succeeded(rewrite(op)) ? WalkResult::advance()
                                                 : WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();
  LDBG() << "@" << symbol.getValue() << " is written by the axes of @"
         << first.getSymName()
         << (newSymbol == symbol ? ", in its own device order" : "");
  ++numUnified;
  if (newSymbol != symbol)
    other.erase();
  else
    other.setMeshAttr(MeshAttr::get(
        module.getContext(), first.getMesh().getAxes(), from.getDeviceIds()));
  return success();
}

namespace {

struct UnifyMeshes : shoal::impl::UnifyMeshesBase<UnifyMeshes> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<MeshOp> meshes = llvm::to_vector(module.getOps<MeshOp>());
    // Programs of one device name the groups of their collectives as they like.
    bool isPerDevice =
        llvm::any_of(module.getOps<FunctionOpInterface>(),
                     [](Operation *op) { return op->hasAttr(kSpmdAttr); });
    if (meshes.size() < 2 || isPerDevice)
      return;
    for (MeshOp other : ArrayRef(meshes).drop_front())
      if (other.getMesh().getAxes() != meshes[0].getMesh().getAxes() &&
          failed(MeshRewriter(meshes[0], other).run(module)))
        return signalPassFailure();
  }
};

} // namespace
