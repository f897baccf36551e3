// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Transforms/Partition/Localizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "shoal/Dialect/Shoal/IR/MeshConversion.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"

using namespace mlir;
using namespace shoal;

RankedTensorType shoal::localType(RankedTensorType type,
                                  const Sharding &sharding, const Mesh &mesh) {
  return type.clone(localShape(type.getShape(), sharding, mesh));
}

RankedTensorType Localizer::localResultType(unsigned index) const {
  return localType(cast<RankedTensorType>(op->getResult(index).getType()),
                   resultShardings[index], mesh);
}

StringAttr Localizer::reason(const Twine &why) const {
  auto removal = op->getAttrOfType<StringAttr>(kRemovalAttr);
  return builder.getStringAttr(removal ? why + "; " + removal.getValue() : why);
}

Operation *Localizer::cloneLocally() {
  Operation *clone = builder.clone(*op);
  clone->setOperands(operands);
  clone->removeAttr(kShardingsAttr);
  clone->removeAttr(kOriginAttr);
  // The collectives that a program has say no more than that they are its own.
  if (clone->removeAttr(kRemovalAttr) &&
      isa<spmd::CollectiveOpInterface>(clone))
    clone->setAttr("why",
                   reason(op->getName().getStringRef() + " of the program"));
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    clone->getResult(i).setType(localResultType(i));
  return clone;
}

Value Localizer::axisIndex(ArrayRef<AxisId> axes) {
  auto type = RankedTensorType::get({}, builder.getI32Type());
  return spmd::AxisIndexOp::create(
      builder, getLoc(), type, meshSymbol,
      toAxesAttr(axes, mesh, builder.getContext()));
}

Value Localizer::firstRow(ArrayRef<AxisId> axes, int64_t rows) {
  Value index = axisIndex(axes);
  auto type = cast<RankedTensorType>(index.getType());
  Value factor = splat(type, builder.getI32IntegerAttr(rows));
  return arith::MulIOp::create(builder, getLoc(), index, factor);
}

Value Localizer::splat(RankedTensorType type, Attribute value) {
  return arith::ConstantOp::create(builder, getLoc(), type,
                                   SplatElementsAttr::get(type, value));
}

Value Localizer::spread(Value scalar, RankedTensorType type) {
  return BroadcastInDimOp::create(builder, getLoc(), type, scalar,
                                  ArrayRef<int64_t>());
}

/// Localizer::maskPadding, with a tensor of the neutral value built by `fill`
/// where there is padding.
static Value mask(Localizer &l, Value value, ArrayRef<int64_t> globalShape,
                  const Sharding &sharding, ArrayRef<int64_t> dims,
                  llvm::function_ref<Value(RankedTensorType)> fill) {
  OpBuilder &builder = l.builder;
  auto type = cast<RankedTensorType>(value.getType());
  auto i32Type = type.clone(builder.getI32Type());
  Value other;
  for (int64_t dim : dims) {
    if (paddedRows(globalShape, dim, sharding, l.mesh) == 0)
      continue;
    Value row = IotaOp::create(builder, l.getLoc(), i32Type, dim);
    Value first = l.firstRow(sharding.dims[dim], type.getDimSize(dim));
    row = arith::AddIOp::create(builder, l.getLoc(), row,
                                l.spread(first, i32Type));
    Value end = l.splat(i32Type, builder.getI32IntegerAttr(globalShape[dim]));
    Value isInside = arith::CmpIOp::create(builder, l.getLoc(),
                                           arith::CmpIPredicate::slt, row, end);
    if (!other)
      other = fill(type);
    value =
        arith::SelectOp::create(builder, l.getLoc(), isInside, value, other);
  }
  return value;
}

Value Localizer::maskPadding(Value value, ArrayRef<int64_t> globalShape,
                             const Sharding &sharding, ArrayRef<int64_t> dims,
                             TypedAttr neutral) {
  return mask(*this, value, globalShape, sharding, dims,
              [&](RankedTensorType type) { return splat(type, neutral); });
}

Value Localizer::maskPadding(Value value, ArrayRef<int64_t> globalShape,
                             const Sharding &sharding, ArrayRef<int64_t> dims,
                             Value neutral) {
  return mask(*this, value, globalShape, sharding, dims,
              [&](RankedTensorType type) { return spread(neutral, type); });
}
