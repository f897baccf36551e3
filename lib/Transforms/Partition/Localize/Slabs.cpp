// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Slabs.h"
#include "Shapes.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Sharding/SlabExchange.h"

using namespace mlir;
using namespace shoal;

/// The dimension to share, `dim` aside.
static std::optional<int64_t> findShared(ArrayRef<int64_t> shape, int64_t dim,
                                         int64_t shards) {
  SmallVector<int64_t> slab(shape);
  slab[dim] = 1;
  std::optional<unsigned> shared = sharedSlabDim(slab, shards);
  return shared ? std::optional<int64_t>(*shared) : std::nullopt;
}

Slabs::Slabs(Localizer &l, ValueRange slabs, int64_t dim, ArrayRef<AxisId> axes)
    : l(l), slabs(slabs), dim(dim), shards(l.mesh.sizeOf(axes)),
      rows(typeOf(slabs[0]).getDimSize(dim)),
      axes(toAxesAttr(axes, l.mesh, l.builder.getContext())),
      type(typeOf(slabs[0])), shared(findShared(type.getShape(), dim, shards)) {
  why = l.reason("partial results of " + l.op->getName().getStringRef());
}

ArrayAttr Slabs::axesAt(int64_t along, int64_t rank) {
  SmallVector<Attribute> lists(rank, AxesAttr::get(l.builder.getContext(), {}));
  lists[along] = axes;
  return l.builder.getArrayAttr(lists);
}

Value Slabs::gather(Value value, int64_t along, int64_t size) {
  return spmd::AllGatherOp::create(
      l.builder, l.getLoc(), withSize(typeOf(value), along, size), l.meshSymbol,
      axesAt(along, typeOf(value).getRank()), value, why);
}

Value Slabs::ownRows(Value value) {
  return spmd::AllSliceOp::create(
      l.builder, l.getLoc(), withSize(typeOf(value), dim, rows), l.meshSymbol,
      axesAt(dim, typeOf(value).getRank()), value, StringAttr());
}

Value Slabs::move(Value value, int64_t from, int64_t to, int64_t size,
                  int64_t parts) {
  auto result = withSize(withSize(typeOf(value), from, size), to, parts);
  auto move = spmd::MoveAttr::get(l.builder.getContext(), axes, from, to);
  return spmd::AllToAllOp::create(l.builder, l.getLoc(), result, l.meshSymbol,
                                  l.builder.getArrayAttr(move), value, why);
}

Values Slabs::shareWork(Work work) {
  int64_t part = shardSize(type.getDimSize(*shared), shards);
  return work(Values(llvm::map_range(slabs, [&](Value slab) {
    return move(slab, dim, *shared, shards * rows, part);
  })));
}

Values Slabs::combine(Work work) {
  if (!shared)
    return work(Values(llvm::map_range(
        slabs, [&](Value slab) { return gather(slab, dim, shards * rows); })));
  return Values(llvm::map_range(shareWork(work), [&](Value result) {
    return gather(result, *shared, type.getDimSize(*shared));
  }));
}

Values Slabs::scan(Work work) {
  if (shared)
    return Values(llvm::map_range(shareWork(work), [&](Value result) {
      return move(result, *shared, dim, type.getDimSize(*shared), rows);
    }));
  Values results = work(Values(llvm::map_range(
      slabs, [&](Value slab) { return gather(slab, dim, shards * rows); })));
  return Values(
      llvm::map_range(results, [&](Value result) { return ownRows(result); }));
}
