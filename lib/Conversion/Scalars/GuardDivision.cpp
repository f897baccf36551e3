// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-guard-division.

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "shoal/Conversion/Scalars/Passes.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_GUARDDIVISION
#include "shoal/Conversion/Scalars/Passes.h.inc"
} // namespace shoal

/// i1: whether `lhs / rhs` has no quotient: the divisor is zero, or it is -1
/// and the dividend the smallest signed number.
static Value hasNoQuotient(OpBuilder &builder, Location loc, Value lhs,
                           Value rhs, bool isSigned) {
  auto type = cast<IntegerType>(rhs.getType());
  auto equals = [&](Value value, const APInt &number) -> Value {
    Value constant = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(type, number));
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, value,
                                 constant);
  };
  unsigned width = type.getWidth();
  Value none = equals(rhs, APInt::getZero(width));
  if (!isSigned || width == 1)
    return none;
  Value overflows =
      arith::AndIOp::create(builder, loc, equals(rhs, APInt::getAllOnes(width)),
                            equals(lhs, APInt::getSignedMinValue(width)));
  return arith::OrIOp::create(builder, loc, none, overflows);
}

static void guard(Operation *division) {
  Value lhs = division->getOperand(0), rhs = division->getOperand(1);
  APInt divisor;
  if (matchPattern(rhs, m_ConstantInt(&divisor)) && !divisor.isZero() &&
      !divisor.isAllOnes())
    return;
  OpBuilder builder(division);
  Location loc = division->getLoc();
  bool isSigned = isa<arith::DivSIOp, arith::RemSIOp>(division);
  Value one = arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(rhs.getType(), 1));
  Value safe = arith::SelectOp::create(
      builder, loc, hasNoQuotient(builder, loc, lhs, rhs, isSigned), one, rhs);
  division->setOperand(1, safe);
}

namespace {

struct GuardDivision : shoal::impl::GuardDivisionBase<GuardDivision> {
  void runOnOperation() override {
    SmallVector<Operation *> divisions;
    getOperation()->walk([&](Operation *op) {
      if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(
              op) &&
          isa<IntegerType>(op->getResult(0).getType()))
        divisions.push_back(op);
    });
    for (Operation *division : divisions)
      guard(division);
  }
};

} // namespace
