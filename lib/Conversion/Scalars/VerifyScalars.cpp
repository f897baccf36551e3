// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-verify-scalars.

#include "../Utils/VerifyOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "shoal/Conversion/Scalars/Passes.h"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_VERIFYSCALARS
#include "shoal/Conversion/Scalars/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static bool isNarrow(Type type) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return element && element.getWidth() < 32;
}

/// The narrow type that the op takes or makes; null if there is none.
static Type findNarrow(Operation *op) {
  for (Type type : op->getOperandTypes())
    if (isNarrow(type))
      return type;
  for (Type type : op->getResultTypes())
    if (isNarrow(type))
      return type;
  return nullptr;
}

/// (C1) and (C2) of the pass's description.
static LogicalResult verify(Operation *op, bool keepConversions) {
  if (!isa_and_present<arith::ArithDialect, math::MathDialect>(
          op->getDialect()) ||
      isa<arith::ConstantOp, arith::SelectOp, arith::BitcastOp>(op))
    return success();
  Type narrow = findNarrow(op);
  if (!narrow)
    return success();
  if (!isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp,
           arith::FPToSIOp, arith::FPToUIOp>(op))
    return op->emitOpError("computes on ") << narrow << ": expected f32";
  Type element = getElementTypeOrSelf(narrow);
  if (element.isF16() || (element.isBF16() && keepConversions))
    return success();
  return op->emitOpError("converts ")
         << narrow << ", which the target cannot: expected integer operations";
}

namespace {

struct VerifyScalars : shoal::impl::VerifyScalarsBase<VerifyScalars> {
  using VerifyScalarsBase::VerifyScalarsBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyOps(getOperation(), [&](Operation *op) {
          return verify(op, keepConversions);
        })))
      signalPassFailure();
  }
};

} // namespace
