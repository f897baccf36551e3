// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "shoal/Sharding/MergeAxes.h"
#include "shoal/Sharding/ReshapeGroups.h"
#include "llvm/ADT/MapVector.h"
#include <map>
#include <set>

using namespace mlir;
using namespace shoal;

namespace {
/// For each axis, the products of sizes at which it must be cut.
using Cuts = std::map<std::string, std::set<int64_t>>;
} // namespace

/// Cuts of one axis in ascending order, such that each divides the next. Axes
/// read as 2 x 3 in one place and 3 x 2 in another have no common atoms.
static LogicalResult checkCuts(MeshOp meshOp, StringRef axis,
                               const std::set<int64_t> &cuts) {
  int64_t last = 1;
  for (int64_t cut : cuts) {
    if (cut % last != 0)
      return meshOp.emitError()
             << "axis \"" << axis << "\": sub-axes end at " << last
             << " and at " << cut
             << " of it; one program cannot use both, as neither divides the "
                "other";
    last = cut;
  }
  return success();
}

/// Where a reshape makes of a dimension of 8 rows 2 x 4, an axis of 4 goes on
/// along the second one behind its first half: the axis is read as 2 x 2. No
/// cut is made that has no common atoms with those there are.
static void addReshapeCuts(ReshapeOp op, MeshAttr mesh, Cuts &cuts) {
  ArrayRef<int64_t> from = cast<ShapedType>(op.getInput().getType()).getShape();
  ArrayRef<int64_t> to = op.getResult().getType().getShape();
  if (llvm::is_contained(from, 0))
    return;
  for (const ReshapeGroup &group : groupDims(from, to)) {
    int64_t small = std::min(from[group.fromBegin], to[group.toBegin]);
    int64_t large = std::max(from[group.fromBegin], to[group.toBegin]);
    if (small == 1 || large % small != 0)
      continue;
    for (MeshAxisAttr axis : mesh.getAxes()) {
      std::set<int64_t> &own = cuts[axis.getName().str()];
      bool isOfUse = axis.getSize() > small && axis.getSize() % small == 0 &&
                     large % axis.getSize() == 0;
      bool fits = llvm::all_of(own, [&](int64_t cut) {
        return cut % small == 0 || small % cut == 0;
      });
      if (isOfUse && fits)
        own.insert(small);
    }
  }
}

static bool sameAxes(MeshOp a, MeshOp b) {
  return a.getMesh().getAxes() == b.getMesh().getAxes();
}

FailureOr<Mesh> shoal::collectMesh(ModuleOp module) {
  auto meshes = module.getOps<MeshOp>();
  if (meshes.empty())
    return module.emitError("the program has no shoal.mesh");
  MeshOp first = *meshes.begin();
  for (MeshOp other : meshes) {
    if (sameAxes(first, other))
      continue;
    InFlightDiagnostic error = other.emitError()
                               << "mesh @" << other.getSymName()
                               << " has other axes than mesh @"
                               << first.getSymName();
    error.attachNote(first.getLoc()) << "the first mesh is here";
    return error;
  }

  Cuts cuts;
  for (MeshAxisAttr axis : first.getMesh().getAxes())
    cuts[axis.getName().str()].insert(axis.getSize());
  module->walk([&](Operation *op) {
    op->getAttrDictionary().walk([&](AxisRefAttr axis) {
      if (axis.isWhole())
        return;
      std::set<int64_t> &own = cuts[axis.getName().str()];
      own.insert(axis.getPreSize());
      own.insert(axis.getPreSize() * axis.getSize());
    });
  });
  module->walk(
      [&](ReshapeOp op) { addReshapeCuts(op, first.getMesh(), cuts); });

  Mesh mesh;
  mesh.name = first.getSymName();
  mesh.deviceIds = std::vector<int64_t>(first.getMesh().getDeviceIds());
  for (MeshAxisAttr axis : first.getMesh().getAxes()) {
    std::string name = axis.getName().str();
    cuts[name].erase(1);
    if (failed(checkCuts(first, name, cuts[name])))
      return failure();
    int64_t pre = 1;
    for (int64_t cut : cuts[name]) {
      mesh.axes.push_back({name, pre, cut / pre, axis.getSize()});
      pre = cut;
    }
    if (axis.getSize() == 1)
      mesh.axes.push_back({name, 1, 1, 1});
  }
  return mesh;
}

Mesh shoal::inOrderOf(const Mesh &mesh, ShardingAttr sharding,
                      Operation *user) {
  Mesh ordered = mesh;
  ordered.name = sharding.getMesh().getValue();
  ordered.deviceIds =
      lookupMesh(user, sharding.getMesh()).getMesh().getDeviceIds().vec();
  if (llvm::is_sorted(ordered.deviceIds))
    ordered.deviceIds.clear();
  return ordered;
}

AxisList shoal::toAxisList(AxisRefAttr axis, const Mesh &mesh) {
  AxisList list;
  for (auto [id, atom] : llvm::enumerate(mesh.axes)) {
    // An axis of one device splits nothing.
    if (atom.name != axis.getName() || atom.size == 1)
      continue;
    int64_t begin = axis.getPreSize();
    int64_t end = axis.isWhole() ? atom.fullSize : begin * axis.getSize();
    if (atom.pre >= begin && atom.pre * atom.size <= end)
      list.push_back(id);
  }
  return list;
}

AxisList shoal::toAxisList(ArrayRef<AxisRefAttr> axes, const Mesh &mesh) {
  AxisList list;
  for (AxisRefAttr axis : axes)
    list.append(toAxisList(axis, mesh));
  return list;
}

Sharding shoal::toSharding(ShardingAttr attr, const Mesh &mesh) {
  Sharding sharding;
  for (DimShardingAttr dim : attr.getDims())
    sharding.dims.push_back(toAxisList(dim.getAxes(), mesh));
  sharding.partial = toAxisList(attr.getPartial(), mesh);
  llvm::sort(sharding.partial);
  return sharding;
}

SmallVector<AxisRefAttr> shoal::toAxisRefs(ArrayRef<AxisId> axes,
                                           const Mesh &mesh,
                                           MLIRContext *context) {
  SmallVector<AxisRefAttr> refs;
  for (const MeshAxis &axis : mergeAxes(axes, mesh))
    refs.push_back(AxisRefAttr::get(context, axis.name, axis.pre,
                                    axis.isWhole() ? 0 : axis.size));
  return refs;
}

AxesAttr shoal::toAxesAttr(ArrayRef<AxisId> axes, const Mesh &mesh,
                           MLIRContext *context) {
  return AxesAttr::get(context, toAxisRefs(axes, mesh, context));
}

ShardingAttr shoal::toAttr(const Sharding &sharding, const Mesh &mesh,
                           FlatSymbolRefAttr symbol) {
  MLIRContext *context = symbol.getContext();
  SmallVector<DimShardingAttr> dims;
  for (ArrayRef<AxisId> dim : sharding.dims)
    dims.push_back(DimShardingAttr::get(context, toAxisRefs(dim, mesh, context),
                                        /*is_open=*/false,
                                        /*priority=*/0));
  return ShardingAttr::get(context, symbol, dims, /*replicated=*/{},
                           toAxisRefs(sharding.partial, mesh, context));
}

AxisList shoal::manualAxesOf(BoundaryOpInterface op, const Mesh &mesh) {
  AxisList axes;
  for (auto axis : op.getManualAxisRefs().getAsRange<AxisRefAttr>())
    axes.append(toAxisList(axis, mesh));
  return axes;
}

AxisList shoal::manualAxesAround(Operation *op, const Mesh &mesh) {
  auto around = op->getParentOfType<BoundaryOpInterface>();
  if (!around)
    return {};
  AxisList axes = manualAxesAround(around, mesh);
  axes.append(manualAxesOf(around, mesh));
  return axes;
}

static ShardingAttr findEntry(ArrayAttr shardings, unsigned index) {
  if (!shardings || shardings.size() <= index)
    return {};
  return dyn_cast<ShardingAttr>(shardings[index]);
}

/// The result that an argument of a region must agree with.
static Value findResultFor(JoinOpInterface op, BlockArgument argument) {
  for (const Join &join : op.getJoins()) {
    if (!llvm::is_contained(join.values, argument))
      continue;
    for (Value value : join.values)
      if (isa<OpResult>(value))
        return value;
  }
  return {};
}

ShardingAttr shoal::getShardingOf(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (auto join = dyn_cast<JoinOpInterface>(parent)) {
      Value result = findResultFor(join, argument);
      return result ? getShardingOf(result) : ShardingAttr();
    }
    if (isa<BoundaryOpInterface>(parent))
      return findEntry(parent->getAttrOfType<ArrayAttr>(kArgumentShardingsAttr),
                       argument.getArgNumber());
    auto function = dyn_cast<FunctionOpInterface>(parent);
    if (!function)
      return {};
    return function.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(),
                                                   kShardingAttr);
  }
  auto result = cast<OpResult>(value);
  return findEntry(result.getOwner()->getAttrOfType<ArrayAttr>(kShardingsAttr),
                   result.getResultNumber());
}
