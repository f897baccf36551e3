// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The mesh of a random program, and annotations that are valid on it.

#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "shoal/Fuzz/ProgramBuilder.h"
#include <numeric>

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

static SmallVector<int64_t> randomOrder(Choices &choices, int64_t devices) {
  SmallVector<int64_t> order(devices);
  std::iota(order.begin(), order.end(), 0);
  choices.shuffle(order);
  return order;
}

/// One to three axes, at most 16 devices, some axes cut in two.
/// A random size of an axis, of a mesh that has `left` devices beside the axes
/// before; the last axis takes all.
static int64_t pickFactor(Choices &choices, int64_t left, bool isLast) {
  SmallVector<int64_t> factors;
  for (int64_t factor = 1; factor <= left; ++factor)
    if (left % factor == 0)
      factors.push_back(factor);
  return isLast ? left : choices.pick(factors);
}

void ProgramBuilder::addMesh(ArrayRef<int64_t> numbers) {
  static constexpr const char *names[] = {"x", "y", "z"};
  static constexpr int64_t choosable[] = {2, 4, 3, 2, 1, 6, 4, 8};
  constexpr int64_t maxDevices = 16;
  unsigned count = 1 + choices.below(3);
  int64_t devices = 1, wanted = numbers.empty() ? 0 : choices.pick(numbers);
  for (unsigned i = 0; i < count; ++i) {
    int64_t size = wanted == 0 ? choices.pick(choosable)
                               : pickFactor(choices, wanted / devices,
                                            /*isLast=*/i + 1 == count);
    while (devices * size > maxDevices)
      size = size % 2 == 0 ? size / 2 : 1;
    devices *= size;
    bool isCut = size % 2 == 0 && size > 2 && choices.chance(30);
    if (isCut) {
      mesh.axes.push_back({names[i], 1, 2, size});
      mesh.axes.push_back({names[i], 2, size / 2, size});
    } else {
      mesh.axes.push_back({names[i], 1, size, size});
    }
  }
  mesh.name = "mesh";
  if (choices.chance(20)) {
    SmallVector<int64_t> order = randomOrder(choices, devices);
    mesh.deviceIds.assign(order.begin(), order.end());
  }
  builder.setInsertionPointToEnd(module->getBody());
  makeMesh(mesh.name, mesh.deviceIds);
  if (choices.chance(15)) {
    otherMesh = "other";
    makeMesh(otherMesh, randomOrder(choices, devices));
  }
}

/// The axes of `mesh`, its devices in this order.
void ProgramBuilder::makeMesh(StringRef name, ArrayRef<int64_t> order) {
  SmallVector<MeshAxisAttr> axes;
  for (const MeshAxis &axis : mesh.axes)
    if (axis.pre == 1)
      axes.push_back(
          MeshAxisAttr::get(builder.getContext(), axis.name, axis.fullSize));
  MeshOp::create(builder, loc, name,
                 MeshAttr::get(builder.getContext(), axes, order));
}

FlatSymbolRefAttr ProgramBuilder::pickMesh() {
  bool isOther = !otherMesh.empty() && choices.chance(40);
  return FlatSymbolRefAttr::get(builder.getContext(),
                                isOther ? otherMesh : mesh.name);
}

/// Each axis that is not manual, in random order, splits a dimension or none.
ShardingAttr ProgramBuilder::randomSharding(ArrayRef<int64_t> shape) {
  int64_t rank = shape.size();
  Sharding sharding = Sharding::replicated(rank);
  AxisList order = llvm::to_vector<2>(llvm::seq<AxisId>(mesh.axes.size()));
  choices.shuffle(order);
  AxisList unused;
  bool mayLeaveEmpty = choices.chance(10);
  for (AxisId axis : order) {
    if (mesh.axes[axis].size == 1 || llvm::is_contained(manualAxes, axis))
      continue;
    int64_t dim = choices.between(-1, rank - 1);
    // More shards than rows only now and then.
    bool isFree =
        dim >= 0 &&
        (mayLeaveEmpty ||
         mesh.sizeOf(sharding.dims[dim]) * mesh.axes[axis].size <= shape[dim]);
    (isFree ? sharding.dims[dim] : unused).push_back(axis);
  }
  MLIRContext *context = builder.getContext();
  ShardingAttr attr =
      toAttr(sharding, mesh, manualMesh ? manualMesh : pickMesh());
  SmallVector<DimShardingAttr> dims;
  for (DimShardingAttr dim : attr.getDims())
    dims.push_back(
        DimShardingAttr::get(context, dim.getAxes(), choices.chance(25),
                             choices.chance(15) ? 1 + choices.below(2) : 0));
  SmallVector<AxisRefAttr> replicated;
  if (!unused.empty() && choices.chance(15))
    replicated = toAxisRefs(unused[0], mesh, context);
  return ShardingAttr::get(context, attr.getMesh(), dims, replicated, {});
}

/// Whether devices may hold addends of the value: of no truth values or floats
/// of eight bits, and of nothing that was reduced by other means than a sum.
static bool mayBeSum(Value value) {
  // Gone by the time that it is asked.
  while (auto copy = value.getDefiningOp<StopGradientOp>())
    value = copy.getInput();
  Type element = getElementTypeOrSelf(value);
  if (element.isInteger(1) || isFloat8(element))
    return false;
  auto maker = value.getDefiningOp<FactorRuleOpInterface>();
  return !maker ||
         llvm::all_of(maker.getFactorRule().factors, [](const Factor &factor) {
           return factor.reduction.value_or(ReduceKind::Sum) == ReduceKind::Sum;
         });
}

/// The sharding with addends along the axes of `mesh` that it names nowhere and
/// that are not manual.
static ShardingAttr withAddends(ShardingAttr sharding, const Mesh &mesh,
                                ArrayRef<AxisId> manual) {
  AxisList named = toAxisList(sharding.getReplicated(), mesh);
  for (DimShardingAttr dim : sharding.getDims())
    named.append(toAxisList(dim.getAxes(), mesh));
  AxisList addends;
  for (AxisId axis = 0; axis < mesh.axes.size(); ++axis)
    if (mesh.axes[axis].size > 1 && !llvm::is_contained(named, axis) &&
        !llvm::is_contained(manual, axis))
      addends.push_back(axis);
  MLIRContext *context = sharding.getContext();
  return ShardingAttr::get(context, sharding.getMesh(), sharding.getDims(),
                           sharding.getReplicated(),
                           toAxisRefs(addends, mesh, context));
}

/// A sharding_constraint or replicate.
Value ProgramBuilder::annotateByAxes(Known known) {
  if (manualAxes.empty() && choices.chance(10))
    return ReplicateOp::create(builder, loc, known.type(), known.value);
  ShardingAttr sharding = randomSharding(known.shape());
  bool isHint = choices.chance(20);
  if (choices.chance(15) && mayBeSum(known.value))
    sharding = withAddends(sharding, mesh, manualAxes);
  return ShardingConstraintOp::create(builder, loc, known.type(), known.value,
                                      sharding, isHint);
}

/// A shard: neighbouring axes in the mesh's order tile a dimension each, the
/// devices in any order. Or a split.
Value ProgramBuilder::annotateByDevices(Known known) {
  int64_t rank = known.type().getRank();
  if (rank > 0 && choices.chance(50)) {
    int64_t partitions = mesh.axes.back().size;
    return SplitOp::create(builder, loc, known.type(), known.value,
                           choices.below(rank), partitions);
  }
  SmallVector<int64_t> tiles(rank + 1, 1);
  int64_t dim = 0;
  for (const MeshAxis &axis : mesh.axes) {
    dim = choices.between(dim, rank);
    tiles[dim] *= axis.size;
  }
  SmallVector<int64_t> devices =
      choices.chance(50)
          ? randomOrder(choices, mesh.numDevices())
          : llvm::to_vector(llvm::seq<int64_t>(mesh.numDevices()));
  if (tiles.back() == 1 && choices.chance(50))
    tiles.pop_back();
  auto type = RankedTensorType::get(tiles, builder.getI64Type());
  return ShardOp::create(builder, loc, known.type(), known.value,
                         cast<DenseIntElementsAttr>(DenseElementsAttr::get(
                             type, ArrayRef<int64_t>(devices))));
}

Known ProgramBuilder::annotate(Known known) {
  bool byDevices = manualAxes.empty() && choices.chance(15);
  Value value = byDevices ? annotateByDevices(known) : annotateByAxes(known);
  return {value, known.range};
}
