// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Roll along a split dimension, as RollPlan.h says: rows that change their
// device are sent by permutes or fetched, the others stay.

#include "IndexMath.h"
#include "Models.h"
#include "Shapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Sharding/RollPlan.h"
#include "shoal/Transforms/Partition/Localizer.h"
#include "shoal/Transforms/Partition/Passes.h"

using namespace mlir;
using namespace shoal;

namespace {

class LocalRoll {
public:
  LocalRoll(RollOp op, Localizer &l)
      : l(l), math(l), dim(op.getDim()), size(shapeOf(op.getInput())[dim]),
        shift(op.getShift()), axes(l.operandShardings[0].dims[dim]),
        shards(l.mesh.sizeOf(axes)), value(l.operands[0]),
        type(l.localResultType()), block(type.getDimSize(dim)) {}

  Value emit() {
    using Form = RollPlan::Form;
    if (size == 0)
      return value;
    switch (planRoll(shift, size, shards).form) {
    case Form::Stay:
      return l.cloneLocally()->getResult(0);
    case Form::Parts:
      return sendParts();
    case Form::LastRowsOn:
      return sendLastRowsOn();
    case Form::FirstRowsBack:
      return sendFirstRowsBack();
    case Form::Windows:
      return selectOfWindows();
    }
    llvm_unreachable("covered switch");
  }

private:
  /// Each part from the device that many places before: where q blocks and r
  /// rows lie between, the last r rows of a block q + 1 devices before, and the
  /// rest of one q devices before.
  Value sendParts() {
    int64_t blocks = shift / block, cut = block - shift % block;
    Value rest = sendFurther(rowsOf(0, cut), blocks);
    if (cut == block)
      return rest;
    Value last = sendFurther(rowsOf(cut, block), blocks + 1);
    return concatenate(last, rest);
  }

  /// The last rows that exist, which stand before the end on the last device.
  Value sendLastRowsOn() {
    RankedTensorType part = withSize(type, dim, shift);
    Value last = DynamicSliceOp::create(l.builder, l.getLoc(), part, value,
                                        startsAt(shift), part.getShape());
    return concatenate(sendFurther(last, 1), rowsOf(0, block - shift));
  }

  /// What comes belongs behind the last row that exists.
  Value sendFirstRowsBack() {
    int64_t back = size - shift;
    Value first = sendFurther(rowsOf(0, back), shards - 1);
    Value moved = concatenate(rowsOf(back, block), first);
    return DynamicUpdateSliceOp::create(l.builder, l.getLoc(), type, moved,
                                        first, startsAt(back));
  }

  /// Where the last `rows` of the device's rows that exist begin; the device
  /// has as many.
  SmallVector<Value> startsAt(int64_t rows) {
    SmallVector<Value> starts(type.getRank(), math.constant(0));
    Value behind =
        math.subtract(math.constant(size - rows), math.firstRow(axes, block));
    starts[dim] = arith::MinSIOp::create(l.builder, l.getLoc(), behind,
                                         math.constant(block - rows));
    return starts;
  }

  Value concatenate(Value a, Value b) {
    return ConcatenateOp::create(l.builder, l.getLoc(), type, ValueRange{a, b},
                                 dim);
  }

  Value rowsOf(int64_t begin, int64_t end) {
    if (end - begin == block)
      return value;
    SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape());
    SmallVector<int64_t> strides(type.getRank(), 1);
    starts[dim] = begin;
    limits[dim] = end;
    return SliceOp::create(l.builder, l.getLoc(),
                           withSize(type, dim, end - begin), value, starts,
                           limits, strides);
  }

  Value sendFurther(Value rows, int64_t devices) {
    if (devices % shards == 0)
      return rows;
    Builder &b = l.builder;
    AxesAttr group = toAxesAttr(axes, l.mesh, b.getContext());
    return spmd::CollectivePermuteOp::create(
        l.builder, l.getLoc(), rows.getType(), l.meshSymbol, group,
        l.meshSymbol, group, rows, b.getI64IntegerAttr(devices % shards),
        /*pairs=*/nullptr, l.reason("rows of shoal.roll"));
  }

  /// The rows from behind the dimension's end are a window of their own.
  Value selectOfWindows() {
    auto rowsFrom = [&](int64_t low) {
      return l.fetchRows(value, dim, size, axes,
                         windowOf({1, low, low, 1}, block));
    };
    Location loc = l.getLoc();
    RankedTensorType rowType = type.clone(l.builder.getI32Type());
    Value row = IotaOp::create(l.builder, loc, rowType, dim);
    row = arith::AddIOp::create(l.builder, loc, row,
                                l.spread(l.firstRow(axes, block), rowType));
    Value begin = l.splat(rowType, l.builder.getI32IntegerAttr(shift));
    Value isAround = arith::CmpIOp::create(
        l.builder, loc, arith::CmpIPredicate::slt, row, begin);
    return arith::SelectOp::create(l.builder, loc, isAround,
                                   rowsFrom(size - shift), rowsFrom(-shift));
  }

  Localizer &l;
  IndexMath math;
  int64_t dim, size, shift;
  ArrayRef<AxisId> axes;
  int64_t shards;
  Value value;
  RankedTensorType type;
  int64_t block;
};

struct Roll : LocalizeOpInterface::ExternalModel<Roll, RollOp> {
  LogicalResult localize(Operation *operation, Localizer &l,
                         SmallVectorImpl<Value> &results) const {
    results.push_back(LocalRoll(cast<RollOp>(operation), l).emit());
    return success();
  }
};

} // namespace

void shoal::registerStructureRollLocalizeModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    RollOp::attachInterface<Roll>(*context);
  });
}
