// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Regions for one device along some axes, with collectives over these and
// random ops in them, regions too.

#include "../RegionCollectives.h"
#include "Generators.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

namespace {
/// Draws a manual_computation.
class RegionMaker {
public:
  explicit RegionMaker(ProgramBuilder &p) : p(p) {}

  bool make();

private:
  using Shards = SmallVector<AxisList, 4>;

  bool pickManualAxes();
  Shards splitRows(ArrayRef<int64_t> shape, bool mayLeaveEmpty);
  ShardingAttr withOtherAxes(const Shards &manual, ArrayRef<int64_t> local);
  void addOperand();
  void fillRegion(ValueRange arguments);
  void yieldOne(Known known);

  ProgramBuilder &p;
  /// Along which the region is for one device, and those that are not manual
  /// in it.
  AxisList manual, others;
  SmallVector<Value> operands, yielded;
  SmallVector<Type> locals, results;
  SmallVector<Bounds> argumentRanges, resultRanges;
  SmallVector<Attribute> in, out;
};
} // namespace

bool RegionMaker::pickManualAxes() {
  for (AxisId axis = 0; axis < p.mesh.axes.size(); ++axis)
    if (p.mesh.axes[axis].size > 1 && !llvm::is_contained(p.manualAxes, axis))
      others.push_back(axis);
  if (others.empty())
    return false;
  manual = pickAxes(p, others);
  llvm::erase_if(others,
                 [&](AxisId axis) { return llvm::is_contained(manual, axis); });
  return true;
}

/// Each manual axis splits a dimension or none; shards may be uneven.
RegionMaker::Shards RegionMaker::splitRows(ArrayRef<int64_t> shape,
                                           bool mayLeaveEmpty) {
  Shards dims(shape.size());
  for (AxisId axis : manual) {
    int64_t dim = p.choices.between(-1, int64_t(shape.size()) - 1);
    if (dim >= 0 &&
        (mayLeaveEmpty ||
         p.mesh.sizeOf(dims[dim]) * p.mesh.axes[axis].size <= shape[dim]))
      dims[dim].push_back(axis);
  }
  return dims;
}

/// The sharding with other axes behind, where these divide the shard.
ShardingAttr RegionMaker::withOtherAxes(const Shards &manualDims,
                                        ArrayRef<int64_t> local) {
  MLIRContext *context = p.builder.getContext();
  Shards behind(local.size());
  AxisList order = others;
  p.choices.shuffle(order);
  for (AxisId axis : order) {
    int64_t dim = p.choices.between(-1, int64_t(local.size()) - 1);
    if (dim < 0)
      continue;
    int64_t shards = p.mesh.sizeOf(behind[dim]) * p.mesh.axes[axis].size;
    if (manualDims[dim].empty() ? shards <= local[dim]
                                : local[dim] % shards == 0)
      behind[dim].push_back(axis);
  }
  SmallVector<DimShardingAttr> dims;
  for (auto [own, more] : llvm::zip_equal(manualDims, behind)) {
    SmallVector<AxisRefAttr> axes = toAxisRefs(own, p.mesh, context);
    llvm::append_range(axes, toAxisRefs(more, p.mesh, context));
    dims.push_back(DimShardingAttr::get(context, axes, p.choices.chance(40),
                                        /*priority=*/0));
  }
  return ShardingAttr::get(context, p.manualMesh, dims, {}, {});
}

void RegionMaker::addOperand() {
  Known known =
      p.pickOr([](const Known &) { return true; },
               [&] { return p.tensor(p.shape(0, 3), p.elementType()); });
  Shards dims = splitRows(known.shape(), p.choices.chance(10));
  SmallVector<int64_t> local(known.shape());
  for (auto [size, axes] : llvm::zip_equal(local, dims))
    size = shardSize(size, p.mesh.sizeOf(axes));
  operands.push_back(known.value);
  argumentRanges.push_back(known.range);
  locals.push_back(p.tensor(local, known.element()));
  in.push_back(withOtherAxes(dims, local));
}

/// Gives the whole of a value any number of rows that has such shards. What
/// devices hold that differ along axes that split nothing becomes the same.
void RegionMaker::yieldOne(Known known) {
  Shards dims(known.type().getRank());
  AxisList same;
  SmallVector<int64_t> whole(known.shape());
  for (AxisId axis : manual) {
    int64_t dim = p.choices.between(-1, known.type().getRank() - 1);
    SmallVector<int64_t> next(whole);
    if (dim >= 0)
      next[dim] *= p.mesh.axes[axis].size;
    if (dim < 0 || !p.fits(next)) {
      same.push_back(axis);
      continue;
    }
    dims[dim].push_back(axis);
    whole = next;
  }
  for (auto [size, axes] : llvm::zip_equal(whole, dims))
    if (int64_t shards = p.mesh.sizeOf(axes); size > 0 && p.choices.chance(50))
      size -= p.choices.below(shards);
  Value value = known.value;
  if (!same.empty()) {
    ReduceKind kind =
        known.element().isInteger(1) ? ReduceKind::Or : ReduceKind::Max;
    value = allReduce(p, kind, toAxesAttr(same, p.mesh, p.builder.getContext()),
                      value);
  }
  yielded.push_back(value);
  results.push_back(p.tensor(whole, known.element()));
  resultRanges.push_back(known.range);
  out.push_back(withOtherAxes(dims, known.shape()));
}

void RegionMaker::fillRegion(ValueRange arguments) {
  for (auto [argument, range] : llvm::zip_equal(arguments, argumentRanges))
    p.add(argument, range);
  auto addRandomOp = p.addRandomOp;
  llvm::SaveAndRestore<std::function<void(ProgramBuilder &)>> withCollectives(
      p.addRandomOp, [&](ProgramBuilder &p) {
        if (!p.choices.chance(30) || !makeCollective(p))
          addRandomOp(p);
      });
  p.addOps(6);
  for (unsigned i = 1 + p.choices.below(2); i > 0; --i)
    if (auto known = p.pick([](const Known &) { return true; }))
      yieldOne(*known);
  p.op("shoal.yield", yielded, {});
}

bool RegionMaker::make() {
  if (!pickManualAxes())
    return false;
  MLIRContext *context = p.builder.getContext();
  if (!p.manualMesh)
    p.manualMesh = p.pickMesh();
  for (unsigned i = 1 + p.choices.below(3); i > 0; --i)
    addOperand();
  AxisList all = p.manualAxes;
  all.append(manual);
  SmallVector<std::unique_ptr<Region>> regions;
  {
    llvm::SaveAndRestore<AxisList> inside(p.manualAxes, all);
    regions.push_back(p.region(
        locals, [&](ValueRange arguments) { fillRegion(arguments); },
        /*isIsolated=*/true));
  }
  auto named = [&](StringRef name, Attribute attr) {
    return p.builder.getNamedAttr(name, attr);
  };
  Operation *made =
      p.op("shoal.manual_computation", operands, results,
           {named("mesh", p.manualMesh),
            named("manual_axes", toAxesAttr(manual, p.mesh, context)),
            named("in_shardings", p.builder.getArrayAttr(in)),
            named("out_shardings", p.builder.getArrayAttr(out))},
           regions);
  if (p.manualAxes.empty())
    p.manualMesh = {};
  for (auto [result, range] : llvm::zip_equal(made->getResults(), resultRanges))
    p.add(result, range);
  return true;
}

static bool makeManualComputation(ProgramBuilder &p) {
  return p.depth() < kMaxRegionDepth && RegionMaker(p).make();
}

void shoal::fuzz::addManualGenerators(Generators &generators) {
  generators.add("shoal.manual_computation", makeManualComputation, 8);
}
