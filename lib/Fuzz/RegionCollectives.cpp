// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RegionCollectives.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;

Value shoal::fuzz::allReduce(ProgramBuilder &p, ReduceKind kind, AxesAttr axes,
                             Value value) {
  return spmd::AllReduceOp::create(
      p.builder, p.loc, value.getType(),
      ReduceKindAttr::get(p.builder.getContext(), kind), p.manualMesh, axes,
      value, StringAttr());
}

AxisList shoal::fuzz::pickAxes(ProgramBuilder &p, AxisList axes) {
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
  /// Sums and the like of all devices.
  Bounds reduced(ReduceKind kind) const {
    return *rangeOfReduction(kind, input.range, devices, input.element());
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
  if (!c.p.fits(type.getShape()))
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

/// Random rows go to places that every device computes from what it is sent, so
/// that all sizes agree: device r gets `sizes[r][s]` rows from device s, behind
/// those of the devices in front of it.
static bool makeRaggedAllToAll(Collective c) {
  ProgramBuilder &p = c.p;
  if (c.input.type().getRank() == 0 || c.input.shape()[0] == 0)
    return false;
  int64_t rows = c.input.shape()[0], devices = c.devices;
  SmallVector<int64_t> sizes; // row r, column s
  for (int64_t i = 0; i < devices * devices; ++i)
    sizes.push_back(p.choices.below(rows / devices + 1));
  SmallVector<int64_t> to;
  int64_t most = 1;
  for (int64_t r = 0; r < devices; ++r) {
    int64_t end = 0;
    for (int64_t s = 0; s < devices; ++s) {
      to.push_back(end);
      end += sizes[r * devices + s];
    }
    most = std::max(most, end);
  }
  // A line for each device, of which it reads its own.
  auto listOf = [&](function_ref<int64_t(int64_t, int64_t)> of) {
    SmallVector<int32_t> values;
    for (int64_t me = 0; me < devices; ++me)
      for (int64_t other = 0; other < devices; ++other)
        values.push_back(static_cast<int32_t>(of(me, other)));
    auto type = p.tensor({devices, devices}, p.builder.getI32Type());
    Value table = arith::ConstantOp::create(
        p.builder, p.loc, DenseElementsAttr::get(type, ArrayRef(values)));
    MLIRContext *context = p.builder.getContext();
    Value line = spmd::AllSliceOp::create(
        p.builder, p.loc, p.tensor({1, devices}, p.builder.getI32Type()),
        p.manualMesh,
        p.builder.getArrayAttr({c.attr(), AxesAttr::get(context, {})}), table,
        StringAttr());
    return ReshapeOp::create(p.builder, p.loc,
                             p.tensor({devices}, p.builder.getI32Type()), line)
        .getResult();
  };
  SmallVector<int64_t> shape(c.input.shape());
  shape[0] = most + p.choices.below(3);
  RankedTensorType type = p.tensor(shape, c.input.element());
  if (!c.p.fits(shape))
    return false;
  Value output = p.constant(type, 0).value;
  auto sizeAt = [&](int64_t r, int64_t s) { return sizes[r * devices + s]; };
  p.add(spmd::RaggedAllToAllOp::create(
            p.builder, p.loc, p.manualMesh, c.attr(), c.input.value, output,
            listOf([&](int64_t, int64_t t) { return t * (rows / devices); }),
            listOf([&](int64_t s, int64_t t) { return sizeAt(t, s); }),
            listOf([&](int64_t s, int64_t t) { return to[t * devices + s]; }),
            listOf([&](int64_t r, int64_t s) { return sizeAt(r, s); }),
            /*mean_rows=*/nullptr, StringAttr()),
        c.input.range);
  return true;
}

static bool makePermute(Collective c, int64_t shift, DenseI64ArrayAttr pairs) {
  c.p.add(spmd::CollectivePermuteOp::create(
              c.p.builder, c.p.loc, c.input.type(), c.p.manualMesh, c.attr(),
              c.p.manualMesh, c.attr(), c.input.value,
              c.p.builder.getI64IntegerAttr(shift), pairs, StringAttr()),
          c.input.range);
  return true;
}

static bool makeShift(Collective c) {
  return makePermute(c, c.p.choices.below(c.devices), /*pairs=*/nullptr);
}

/// Some send, each to another one; those who get nothing have zeros.
static bool makePairs(Collective c) {
  auto sources = llvm::to_vector(llvm::seq<int64_t>(c.devices));
  SmallVector<int64_t> targets(sources), pairs;
  c.p.choices.shuffle(sources);
  c.p.choices.shuffle(targets);
  int64_t count = c.p.choices.below(c.devices + 1);
  for (int64_t i = 0; i < count; ++i)
    pairs.append({sources[i], targets[i]});
  return makePermute(c, /*shift=*/0, c.p.builder.getDenseI64ArrayAttr(pairs));
}

static bool makeAxisIndex(Collective c) {
  Value index = spmd::AxisIndexOp::create(
      c.p.builder, c.p.loc, c.p.tensor({}, c.p.builder.getI32Type()),
      c.p.manualMesh, c.attr());
  c.p.add(index, {double(c.devices), 0, 0});
  return true;
}

bool shoal::fuzz::makeCollective(ProgramBuilder &p) {
  static constexpr bool (*kinds[])(Collective) = {
      makeAllReduce, makeAllGather, makeReduceScatter,
      makeAxisIndex, makeAllToAll,  makeRaggedAllToAll,
      makeShift,     makeAllSlice,  makePairs};
  auto input = p.pick([](const Known &) { return true; });
  return input && p.choices.pick(kinds)(Collective{p, *input});
}
