// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Regions for one device along some axes, with collectives over these and
// random ops in them, regions too.

#include "shoal/Dialect/Shoal/IR/ManualOps.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Fuzz/Generators.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static Value allReduce(ProgramBuilder &p, ReduceKind kind, AxesAttr axes,
                       Value value) {
  return spmd::AllReduceOp::create(
      p.builder, p.loc, value.getType(),
      ReduceKindAttr::get(p.builder.getContext(), kind), p.manualMesh, axes,
      value, StringAttr());
}

/// One to all of the axes, in any order.
static AxisList pickAxes(ProgramBuilder &p, AxisList axes) {
  p.choices.shuffle(axes);
  axes.resize(1 + p.choices.below(axes.size()));
  return axes;
}

namespace {
/// A collective over some of the manual axes, in the making.
struct Collective {
  ProgramBuilder &p;
  Known input;
  AxisList axes = pickAxes(p, p.manualAxes);
  int64_t devices = p.mesh.sizeOf(axes);

  AxesAttr attr() const {
    return toAxesAttr(axes, p.mesh, p.builder.getContext());
  }
  /// The axes on one dimension.
  ArrayAttr onDim(int64_t dim) const {
    MLIRContext *context = p.builder.getContext();
    SmallVector<Attribute> dims(input.type().getRank(),
                                AxesAttr::get(context, {}));
    dims[dim] = attr();
    return p.builder.getArrayAttr(dims);
  }
  /// A dimension that is `divided` by the devices; none where it cannot be.
  std::optional<int64_t> pickDim(bool divided) const {
    int64_t rank = input.type().getRank();
    if (rank == 0)
      return std::nullopt;
    int64_t dim = p.choices.below(rank);
    if (divided && input.shape()[dim] % devices != 0)
      return std::nullopt;
    return dim;
  }
  RankedTensorType scaled(int64_t dim, int64_t times, int64_t over) const {
    SmallVector<int64_t> shape(input.shape());
    shape[dim] = shape[dim] * times / over;
    return p.tensor(shape, input.element());
  }
  ReduceKind pickKind() const {
    if (input.element().isInteger(1))
      return p.choices.chance(50) ? ReduceKind::And : ReduceKind::Or;
    static constexpr ReduceKind kinds[] = {ReduceKind::Sum, ReduceKind::Max,
                                           ReduceKind::Min};
    return p.choices.pick(kinds);
  }
  Bounds reduced(ReduceKind kind) const {
    return kind == ReduceKind::Sum
               ? sumOf(devices, input.range, input.element())
               : input.range;
  }
};
} // namespace

static bool makeAllReduce(Collective c) {
  ReduceKind kind = c.pickKind();
  Bounds range = c.reduced(kind);
  if (!isUsable(range, c.input.element()))
    return false;
  c.p.add(allReduce(c.p, kind, c.attr(), c.input.value), range);
  return true;
}

static bool makeReduceScatter(Collective c) {
  std::optional<int64_t> dim = c.pickDim(/*divided=*/true);
  ReduceKind kind = c.pickKind();
  Bounds range = c.reduced(kind);
  if (!dim || !isUsable(range, c.input.element()))
    return false;
  c.p.add(spmd::ReduceScatterOp::create(
              c.p.builder, c.p.loc, c.scaled(*dim, 1, c.devices),
              ReduceKindAttr::get(c.p.builder.getContext(), kind),
              c.p.manualMesh, c.onDim(*dim), c.input.value, StringAttr()),
          range);
  return true;
}

static bool makeAllGather(Collective c) {
  std::optional<int64_t> dim = c.pickDim(/*divided=*/false);
  if (!dim)
    return false;
  RankedTensorType type = c.scaled(*dim, c.devices, 1);
  if (!ProgramBuilder::fits(type.getShape()))
    return false;
  c.p.add(spmd::AllGatherOp::create(c.p.builder, c.p.loc, type, c.p.manualMesh,
                                    c.onDim(*dim), c.input.value, StringAttr()),
          c.input.range);
  return true;
}

static bool makeAllSlice(Collective c) {
  std::optional<int64_t> dim = c.pickDim(/*divided=*/true);
  if (!dim)
    return false;
  c.p.add(spmd::AllSliceOp::create(c.p.builder, c.p.loc,
                                   c.scaled(*dim, 1, c.devices), c.p.manualMesh,
                                   c.onDim(*dim), c.input.value, StringAttr()),
          c.input.range);
  return true;
}

static bool makeAllToAll(Collective c) {
  std::optional<int64_t> target = c.pickDim(/*divided=*/true);
  if (!target || c.input.type().getRank() < 2)
    return false;
  int64_t rank = c.input.type().getRank();
  int64_t source = (*target + 1 + c.p.choices.below(rank - 1)) % rank;
  SmallVector<int64_t> shape(c.input.shape());
  shape[source] *= c.devices;
  shape[*target] /= c.devices;
  MLIRContext *context = c.p.builder.getContext();
  Attribute move = spmd::MoveAttr::get(context, c.attr(), source, *target);
  c.p.add(spmd::AllToAllOp::create(
              c.p.builder, c.p.loc, c.p.tensor(shape, c.input.element()),
              c.p.manualMesh, ArrayAttr::get(context, move), c.input.value,
              StringAttr()),
          c.input.range);
  return true;
}

static bool makeShift(Collective c) {
  auto shift = c.p.builder.getI64IntegerAttr(c.p.choices.below(c.devices));
  c.p.add(spmd::CollectivePermuteOp::create(
              c.p.builder, c.p.loc, c.input.type(), c.p.manualMesh, c.attr(),
              c.p.manualMesh, c.attr(), c.input.value, shift, StringAttr()),
          c.input.range);
  return true;
}

static bool makeAxisIndex(Collective c) {
  Value index = spmd::AxisIndexOp::create(
      c.p.builder, c.p.loc, c.p.tensor({}, c.p.builder.getI32Type()),
      c.p.manualMesh, c.attr());
  c.p.add(index, {double(c.devices), 0, 0});
  return true;
}

static bool makeCollective(ProgramBuilder &p) {
  static constexpr bool (*kinds[])(Collective) = {
      makeAllReduce, makeAllGather, makeReduceScatter, makeAxisIndex,
      makeAllToAll,  makeShift,     makeAllSlice};
  auto input = p.pick([](const Known &) { return true; });
  return input && p.choices.pick(kinds)(Collective{p, *input});
}

//===----------------------------------------------------------------------===//
// The region
//===----------------------------------------------------------------------===//

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
    if (dim < 0 || !ProgramBuilder::fits(next)) {
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
