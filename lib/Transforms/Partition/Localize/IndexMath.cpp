// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "IndexMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"

using namespace mlir;
using namespace shoal;

RankedTensorType IndexMath::type(ArrayRef<int64_t> shape) const {
  return RankedTensorType::get(shape, l.builder.getI64Type());
}

Value IndexMath::constant(int64_t value, ArrayRef<int64_t> shape) {
  return l.splat(type(shape), l.builder.getI64IntegerAttr(value));
}

Value IndexMath::widen(Value value) {
  RankedTensorType wide = type(tensorTypeOf(value).getShape());
  if (value.getType() == wide)
    return value;
  return arith::ExtSIOp::create(l.builder, l.getLoc(), wide, value);
}

Value IndexMath::add(Value a, Value b) {
  return arith::AddIOp::create(l.builder, l.getLoc(), a, b);
}

Value IndexMath::subtract(Value a, Value b) {
  return arith::SubIOp::create(l.builder, l.getLoc(), a, b);
}

Value IndexMath::clamp(Value value, int64_t limit) {
  ArrayRef<int64_t> shape = tensorTypeOf(value).getShape();
  Value atLeast =
      arith::MaxSIOp::create(l.builder, l.getLoc(), value, constant(0, shape));
  return arith::MinSIOp::create(l.builder, l.getLoc(), atLeast,
                                constant(limit, shape));
}

Value IndexMath::isBelow(Value value, int64_t size) {
  // A negative number is a large one without its sign.
  return arith::CmpIOp::create(l.builder, l.getLoc(), arith::CmpIPredicate::ult,
                               value,
                               constant(size, tensorTypeOf(value).getShape()));
}

Value IndexMath::firstRow(ArrayRef<AxisId> axes, int64_t rows) {
  if (axes.empty())
    return {};
  return arith::MulIOp::create(l.builder, l.getLoc(), widen(l.axisIndex(axes)),
                               constant(rows));
}

Value IndexMath::place(Value value, ArrayRef<int64_t> shape,
                       ArrayRef<int64_t> dims) {
  return BroadcastInDimOp::create(
      l.builder, l.getLoc(), tensorTypeOf(value).clone(shape), value, dims);
}

Value IndexMath::component(Value indices, int64_t indexVectorDim,
                           int64_t component) {
  RankedTensorType all = tensorTypeOf(indices);
  if (indexVectorDim == all.getRank())
    return widen(indices);
  SmallVector<int64_t> starts(all.getRank(), 0), limits(all.getShape());
  SmallVector<int64_t> strides(all.getRank(), 1), shape = limits;
  starts[indexVectorDim] = component;
  limits[indexVectorDim] = component + 1;
  shape[indexVectorDim] = 1;
  Value line = SliceOp::create(l.builder, l.getLoc(), all.clone(shape), indices,
                               starts, limits, strides);
  shape.erase(shape.begin() + indexVectorDim);
  return widen(
      ReshapeOp::create(l.builder, l.getLoc(), all.clone(shape), line));
}

Value IndexMath::indexVectors(ArrayRef<Value> components,
                              ArrayRef<int64_t> shape) {
  if (components.size() == 1)
    return components.front();
  SmallVector<int64_t> column(shape);
  column.push_back(1);
  SmallVector<Value> columns;
  for (Value component : components)
    columns.push_back(
        ReshapeOp::create(l.builder, l.getLoc(), type(column), component));
  column.back() = components.size();
  return ConcatenateOp::create(l.builder, l.getLoc(), type(column), columns,
                               shape.size());
}

Value shoal::keepWhere(Localizer &l, Value keep, Value value,
                       ArrayRef<int64_t> dims, TypedAttr neutral) {
  RankedTensorType type = tensorTypeOf(value);
  Value everywhere = IndexMath(l).place(keep, type.getShape(), dims);
  return arith::SelectOp::create(l.builder, l.getLoc(), everywhere, value,
                                 l.splat(type, neutral));
}

Value shoal::keepOnFirst(Localizer &l, Value value, ArrayRef<AxisId> axes,
                         TypedAttr neutral) {
  if (axes.empty())
    return value;
  IndexMath math(l);
  Value isFirst = math.isBelow(math.firstRow(axes, 1), 1);
  return keepWhere(l, isFirst, value, {}, neutral);
}

Value shoal::reduceOver(Localizer &l, Value value, ReduceKind kind,
                        ArrayRef<AxisId> axes) {
  if (axes.empty())
    return value;
  MLIRContext *context = l.builder.getContext();
  StringAttr why =
      l.reason(stringifyReduceKind(kind) + " of what devices have combined");
  return spmd::AllReduceOp::create(
      l.builder, l.getLoc(), value.getType(),
      ReduceKindAttr::get(context, kind), l.meshSymbol,
      toAxesAttr(axes, l.mesh, context), value, why);
}
