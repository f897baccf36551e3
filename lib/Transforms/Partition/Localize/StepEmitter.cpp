// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StepEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Sharding/ManualAxes.h"
#include "shoal/Sharding/ReshardPlan.h"
#include "shoal/Transforms/Partition/Localizer.h"

using namespace mlir;
using namespace shoal;

namespace {

class StepEmitter {
public:
  StepEmitter(OpBuilder &builder, const Mesh &mesh, ReshardOp op, Value input)
      : builder(builder), mesh(mesh), op(op), input(input),
        before(toSharding(op.getSource(), mesh)),
        after(toSharding(op.getTarget(), mesh)),
        delta(describeStep(before, after)),
        type(localType(op.getType(), after, mesh)) {}

  Value emit() {
    Location loc = op.getLoc();
    FlatSymbolRefAttr symbol = op.getSource().getMesh();
    StringAttr why = op.getWhyAttr();
    switch (*op.getStep()) {
    case ReshardStep::Slice:
      return spmd::AllSliceOp::create(builder, loc, type, symbol,
                                      perDim(delta.added), input, why);
    case ReshardStep::AllGather:
      return spmd::AllGatherOp::create(builder, loc, type, symbol,
                                       perDim(delta.removed), input, why);
    case ReshardStep::AllReduce:
      return spmd::AllReduceOp::create(builder, loc, type, sum(), symbol,
                                       axes(delta.partialRemoved), input, why);
    case ReshardStep::ReduceScatter:
      return spmd::ReduceScatterOp::create(builder, loc, type, sum(), symbol,
                                           perDim(delta.added), input, why);
    case ReshardStep::AllToAll:
      return spmd::AllToAllOp::create(builder, loc, type, symbol, moves(),
                                      input, why);
    case ReshardStep::CollectivePermute:
      return emitPermute();
    case ReshardStep::ToPartial:
      return emitToPartial();
    case ReshardStep::Exchange:
      return emitExchange();
    case ReshardStep::Relabel:
      return input;
    }
    llvm_unreachable("all steps are handled");
  }

private:
  ReduceKindAttr sum() {
    return ReduceKindAttr::get(builder.getContext(), ReduceKind::Sum);
  }

  AxesAttr axes(ArrayRef<AxisId> list) {
    return toAxesAttr(list, mesh, builder.getContext());
  }

  ArrayAttr perDim(ArrayRef<AxisList> lists) {
    return builder.getArrayAttr(llvm::map_to_vector(
        lists, [&](const AxisList &list) -> Attribute { return axes(list); }));
  }

  ArrayAttr moves() {
    return builder.getArrayAttr(
        llvm::map_to_vector(delta.moves, [&](const AxisMove &m) -> Attribute {
          return spmd::MoveAttr::get(builder.getContext(), axes(m.axes),
                                     m.sourceDim, m.targetDim);
        }));
  }

  /// In a region for one device along some axes: of the tensor that all
  /// devices along them hold together, of which each has one row.
  Value emitExchange() {
    AxisList manual = manualAxesAround(op, mesh);
    Sharding source = withManualDim(before, manual);
    Sharding target = withManualDim(after, manual);
    SmallVector<int64_t> shape =
        withManualDim(op.getType().getShape(), manual, mesh);
    Value exchanged = spmd::ExchangeOp::create(
        builder, op.getLoc(), type.clone(localShape(shape, target, mesh)),
        op.getSource().getMesh(), perDim(source.dims), op.getTarget().getMesh(),
        perDim(target.dims), reshape(input, localShape(shape, source, mesh)),
        builder.getDenseI64ArrayAttr(shape), op.getWhyAttr());
    return reshape(exchanged, type.getShape());
  }

  Value reshape(Value value, ArrayRef<int64_t> shape) {
    auto from = cast<RankedTensorType>(value.getType());
    if (from.getShape() == shape)
      return value;
    return ReshapeOp::create(builder, op.getLoc(), from.clone(shape), value);
  }

  Value emitPermute() {
    AxisPermutation permutation = describePermute(before, after, mesh);
    if (before == after) // Only the device order changes.
      permutation.source = permutation.target =
          llvm::to_vector<2>(llvm::seq<AxisId>(mesh.axes.size()));
    return spmd::CollectivePermuteOp::create(
        builder, op.getLoc(), type, op.getSource().getMesh(),
        axes(permutation.source), op.getTarget().getMesh(),
        axes(permutation.target), input, builder.getI64IntegerAttr(0),
        /*pairs=*/nullptr, op.getWhyAttr());
  }

  Value emitToPartial() {
    Localizer l(builder, mesh, op.getSource().getMesh(), op, input, before,
                after);
    AxisList rest = delta.partialAdded;
    Value addend = input;
    for (auto [dim, axes] : llvm::enumerate(delta.removed)) {
      if (!axes.empty())
        addend = placeBlock(l, addend, dim, axes);
      llvm::erase_if(
          rest, [&](AxisId axis) { return llvm::is_contained(axes, axis); });
    }
    return rest.empty() ? addend : keepOnFirst(l, addend, rest);
  }

  /// The device's rows of `dim` at their place among zeros, of the rows that
  /// all devices along `axes` have.
  Value placeBlock(Localizer &l, Value block, int64_t dim,
                   ArrayRef<AxisId> axes) {
    auto own = cast<RankedTensorType>(block.getType());
    int64_t rows = own.getDimSize(dim);
    SmallVector<int64_t> shape(own.getShape());
    shape[dim] = rows * mesh.sizeOf(axes);
    RankedTensorType padded = own.clone(shape);
    Value first = l.firstRow(axes, rows);
    Value zero = l.splat(cast<RankedTensorType>(first.getType()),
                         builder.getI32IntegerAttr(0));
    SmallVector<Value> starts(own.getRank(), zero);
    starts[dim] = first;
    Value placed = DynamicUpdateSliceOp::create(
        builder, op.getLoc(), padded,
        l.splat(padded, getIdentity(ReduceKind::Sum, own.getElementType())),
        block, starts);
    return cutRows(placed, dim, type.getDimSize(dim));
  }

  Value cutRows(Value value, int64_t dim, int64_t rows) {
    auto from = cast<RankedTensorType>(value.getType());
    if (from.getDimSize(dim) == rows)
      return value;
    SmallVector<int64_t> starts(from.getRank(), 0), strides(from.getRank(), 1);
    SmallVector<int64_t> limits(from.getShape());
    limits[dim] = rows;
    return SliceOp::create(builder, op.getLoc(), from.clone(limits), value,
                           starts, limits, strides);
  }

  /// The first device along the axes keeps its value, the others hold zero.
  Value keepOnFirst(Localizer &l, Value value, ArrayRef<AxisId> axes) {
    Value index = l.axisIndex(axes);
    auto indexType = cast<RankedTensorType>(index.getType());
    Value isFirst = arith::CmpIOp::create(
        builder, op.getLoc(), arith::CmpIPredicate::eq, index,
        l.splat(indexType, builder.getI32IntegerAttr(0)));
    Value zero =
        l.splat(type, getIdentity(ReduceKind::Sum, type.getElementType()));
    return arith::SelectOp::create(
        builder, op.getLoc(),
        l.spread(isFirst, type.clone(builder.getI1Type())), value, zero);
  }

  OpBuilder &builder;
  const Mesh &mesh;
  ReshardOp op;
  Value input;
  Sharding before, after;
  ShardingDelta delta;
  RankedTensorType type;
};

} // namespace

Value shoal::emitStep(OpBuilder &builder, const Mesh &mesh, ReshardOp op,
                      Value input) {
  return StepEmitter(builder, mesh, op, input).emit();
}
