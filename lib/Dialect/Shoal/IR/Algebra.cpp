// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/Algebra.h"

using namespace mlir;
using namespace shoal;
using arith::AtomicRMWKind;

/// Upstream's name of `kind` on `element`.
static AtomicRMWKind toArith(ReduceKind kind, Type element) {
  bool isFloat = isa<FloatType>(element), isTruth = element.isInteger(1);
  switch (kind) {
  case ReduceKind::Sum:
    return isFloat   ? AtomicRMWKind::addf
           : isTruth ? AtomicRMWKind::ori
                     : AtomicRMWKind::addi;
  case ReduceKind::Prod:
    return isFloat   ? AtomicRMWKind::mulf
           : isTruth ? AtomicRMWKind::andi
                     : AtomicRMWKind::muli;
  case ReduceKind::Max:
    return isFloat   ? AtomicRMWKind::maximumf
           : isTruth ? AtomicRMWKind::ori
                     : AtomicRMWKind::maxs;
  case ReduceKind::Min:
    return isFloat   ? AtomicRMWKind::minimumf
           : isTruth ? AtomicRMWKind::andi
                     : AtomicRMWKind::mins;
  case ReduceKind::And:
    return AtomicRMWKind::andi;
  case ReduceKind::Or:
    return AtomicRMWKind::ori;
  }
  llvm_unreachable("all kinds are listed");
}

TypedAttr shoal::getIdentity(AtomicRMWKind kind, Type type) {
  OpBuilder builder(type.getContext());
  auto floatType = dyn_cast<FloatType>(type);
  bool isFinite = floatType && !llvm::APFloat::semanticsHasInf(
                                   floatType.getFloatSemantics());
  return arith::getIdentityValueAttr(kind, type, builder,
                                     builder.getUnknownLoc(), isFinite);
}

TypedAttr shoal::getIdentity(ReduceKind kind, Type type) {
  return getIdentity(toArith(kind, type), type);
}

static TypedAttr getNegativeZero(FloatType type) {
  return FloatAttr::get(type, APFloat::getZero(type.getFloatSemantics(),
                                               /*Negative=*/true));
}

TypedAttr shoal::getNeutralElement(ReduceKind kind, Type type) {
  auto floatType = dyn_cast<FloatType>(type);
  return floatType && kind == ReduceKind::Sum ? getNegativeZero(floatType)
                                              : getIdentity(kind, type);
}

TypedAttr shoal::getNeutralElement(Operation *combiner) {
  Type type = combiner->getResult(0).getType();
  if (isa<arith::AddFOp>(combiner))
    return getNegativeZero(cast<FloatType>(type));
  if (isa<arith::MaximumFOp, arith::MinimumFOp>(combiner))
    return getIdentity(isa<arith::MaximumFOp>(combiner)
                           ? AtomicRMWKind::maximumf
                           : AtomicRMWKind::minimumf,
                       type);
  return arith::getNeutralElement(combiner).value_or(nullptr);
}

Type shoal::getAccumulator(ReduceKind kind, Type type) {
  bool rounds = kind == ReduceKind::Sum || kind == ReduceKind::Prod;
  if (rounds && isa<FloatType>(type) && type.getIntOrFloatBitWidth() < 32)
    return Float32Type::get(type.getContext());
  return type;
}

Value shoal::createCombiner(OpBuilder &builder, Location loc, ReduceKind kind,
                            Value lhs, Value rhs, arith::FastMathFlags flags) {
  AtomicRMWKind op = toArith(kind, getElementTypeOrSelf(lhs.getType()));
  Value value = arith::getReductionOp(op, builder, loc, lhs, rhs);
  if (auto sum = value.getDefiningOp<arith::AddFOp>())
    sum.setFastmath(flags);
  if (auto product = value.getDefiningOp<arith::MulFOp>())
    product.setFastmath(flags);
  return value;
}
