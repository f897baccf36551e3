// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combiner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Dialect/Shoal/IR/FloatTypes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace shoal;

static TypedAttr getFloat(Type type, bool negative, bool infinite) {
  const llvm::fltSemantics &semantics =
      cast<FloatType>(type).getFloatSemantics();
  return FloatAttr::get(type,
                        infinite ? extremeOf(cast<FloatType>(type), negative)
                                 : llvm::APFloat::getZero(semantics, negative));
}

static TypedAttr getNaN(Type type) {
  return FloatAttr::get(
      type, llvm::APFloat::getNaN(cast<FloatType>(type).getFloatSemantics()));
}

static TypedAttr getInteger(Type type, const llvm::APInt &value) {
  return IntegerAttr::get(type, value);
}

TypedAttr shoal::getNeutralElement(Operation *combiner) {
  Type type = combiner->getResult(0).getType();
  if (!type.isIntOrFloat())
    return nullptr;
  unsigned width = type.getIntOrFloatBitWidth();
  bool rounds = isa<FloatType>(type) && width < 32;
  using llvm::APInt;
  return llvm::TypeSwitch<Operation *, TypedAttr>(combiner)
      .Case([&](arith::AddFOp) {
        // Adding 0.0 would turn -0.0 into 0.0.
        return rounds ? nullptr : getFloat(type, true, false);
      })
      .Case([&](arith::MulFOp) -> TypedAttr {
        return rounds ? nullptr : FloatAttr::get(type, 1.0);
      })
      .Case([&](arith::MaximumFOp) { return getFloat(type, true, true); })
      .Case([&](arith::MinimumFOp) { return getFloat(type, false, true); })
      .Case<arith::MaxNumFOp, arith::MinNumFOp>(
          [&](auto) { return getNaN(type); })
      .Case<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>(
          [&](auto) { return getInteger(type, APInt::getZero(width)); })
      .Case<arith::AndIOp, arith::MinUIOp>(
          [&](auto) { return getInteger(type, APInt::getAllOnes(width)); })
      .Case([&](arith::MulIOp) { return getInteger(type, APInt(width, 1)); })
      .Case([&](arith::MaxSIOp) {
        return getInteger(type, APInt::getSignedMinValue(width));
      })
      .Case([&](arith::MinSIOp) {
        return getInteger(type, APInt::getSignedMaxValue(width));
      })
      .Default([](Operation *) { return nullptr; });
}

Operation *shoal::matchCombiner(linalg::GenericOp op, unsigned number) {
  Operation *yield = op.getBody()->getTerminator();
  OpOperand &yielded = yield->getOpOperand(number);
  Operation *combiner = yielded.get().getDefiningOp();
  Value old = op.getRegionOutputArgs()[number];
  // What else reads the old or the new value sees partial results.
  if (!combiner || combiner->getBlock() != op.getBody() ||
      combiner->getNumOperands() != 2 || !combiner->hasOneUse() ||
      !old.hasOneUse() || *old.user_begin() != combiner)
    return nullptr;
  return getNeutralElement(combiner) ? combiner : nullptr;
}

Value shoal::combine(OpBuilder &builder, Operation *combiner, Value lhs,
                     Value rhs) {
  IRMapping mapping;
  mapping.map(combiner->getOperand(0), lhs);
  // Of x + x both operands are one value; the second is set behind.
  Operation *copy = builder.clone(*combiner, mapping);
  copy->setOperand(1, rhs);
  return copy->getResult(0);
}
