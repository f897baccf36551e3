// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combiner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/FloatTypes.h"

using namespace mlir;
using namespace shoal;

/// On one bit, arithmetic is logic.
static ReduceKind asLogic(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Max:
  case ReduceKind::Or:
    return ReduceKind::Or;
  case ReduceKind::Prod:
  case ReduceKind::Min:
  case ReduceKind::And:
    return ReduceKind::And;
  }
  llvm_unreachable("all kinds are listed");
}

static TypedAttr getFloatIdentity(ReduceKind kind, FloatType type) {
  switch (kind) {
  case ReduceKind::Prod:
    return FloatAttr::get(type, 1.0);
  case ReduceKind::Max:
    return FloatAttr::get(type, extremeOf(type, /*isNegative=*/true));
  case ReduceKind::Min:
    return FloatAttr::get(type, extremeOf(type, /*isNegative=*/false));
  default:
    return FloatAttr::get(type, 0.0);
  }
}

TypedAttr shoal::getIdentity(ReduceKind kind, Type type) {
  if (auto floatType = dyn_cast<FloatType>(type))
    return getFloatIdentity(kind, floatType);
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 1)
    kind = asLogic(kind);
  APInt value(width, 0);
  if (kind == ReduceKind::Prod)
    value = APInt(width, 1);
  else if (kind == ReduceKind::Max)
    value = APInt::getSignedMinValue(width);
  else if (kind == ReduceKind::Min)
    value = APInt::getSignedMaxValue(width);
  else if (kind == ReduceKind::And)
    value = APInt::getAllOnes(width);
  return IntegerAttr::get(type, value);
}

static Value combineFloats(OpBuilder &builder, Location loc, ReduceKind kind,
                           Value lhs, Value rhs) {
  auto reassoc = arith::FastMathFlags::reassoc;
  switch (kind) {
  case ReduceKind::Prod:
    return arith::MulFOp::create(builder, loc, lhs, rhs, reassoc);
  case ReduceKind::Max:
    return arith::MaximumFOp::create(builder, loc, lhs, rhs);
  case ReduceKind::Min:
    return arith::MinimumFOp::create(builder, loc, lhs, rhs);
  default:
    return arith::AddFOp::create(builder, loc, lhs, rhs, reassoc);
  }
}

Value shoal::combine(OpBuilder &builder, Location loc, ReduceKind kind,
                     Value lhs, Value rhs) {
  if (isa<FloatType>(lhs.getType()))
    return combineFloats(builder, loc, kind, lhs, rhs);
  if (lhs.getType().isInteger(1))
    kind = asLogic(kind);
  switch (kind) {
  case ReduceKind::Sum:
    return arith::AddIOp::create(builder, loc, lhs, rhs);
  case ReduceKind::Prod:
    return arith::MulIOp::create(builder, loc, lhs, rhs);
  case ReduceKind::Max:
    return arith::MaxSIOp::create(builder, loc, lhs, rhs);
  case ReduceKind::Min:
    return arith::MinSIOp::create(builder, loc, lhs, rhs);
  case ReduceKind::And:
    return arith::AndIOp::create(builder, loc, lhs, rhs);
  case ReduceKind::Or:
    return arith::OrIOp::create(builder, loc, lhs, rhs);
  }
  llvm_unreachable("all kinds are listed");
}

Type shoal::getAccumulator(ReduceKind kind, Type type) {
  bool rounds = kind == ReduceKind::Sum || kind == ReduceKind::Prod;
  if (rounds && (type.isBF16() || type.isF16() || isFloat8(type)))
    return Float32Type::get(type.getContext());
  return type;
}

Value shoal::convertTo(OpBuilder &builder, Location loc, Value value,
                       Type elementType) {
  Type source = getElementTypeOrSelf(value.getType());
  if (source == elementType)
    return value;
  Type target = elementType;
  if (auto shaped = dyn_cast<ShapedType>(value.getType()))
    target = shaped.clone(elementType);
  unsigned from = source.getIntOrFloatBitWidth();
  unsigned to = elementType.getIntOrFloatBitWidth();
  if (source.isInteger(1))
    return arith::ExtUIOp::create(builder, loc, target, value);
  if (isa<IntegerType>(source))
    return arith::ExtSIOp::create(builder, loc, target, value);
  if (from < to)
    return arith::ExtFOp::create(builder, loc, target, value);
  return arith::TruncFOp::create(builder, loc, target, value);
}
