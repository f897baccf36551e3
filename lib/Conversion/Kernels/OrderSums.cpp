// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-order-sums.

#include "SumLanes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "shoal/Conversion/Kernels/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-order-sums"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_ORDERSUMS
#include "shoal/Conversion/Kernels/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numOrdered(DEBUG_TYPE, "Sums in lanes");

/// Takes from LLVM what would let it choose an order of its own.
static void forbidReassociation(Operation *op) {
  if (!mayBeReassociated(op))
    return;
  auto math = cast<arith::ArithFastMathInterface>(op);
  arith::FastMathFlags flags = math.getFastMathFlagsAttr().getValue();
  op->setAttr(math.getFastMathAttrName(),
              arith::FastMathFlagsAttr::get(
                  op->getContext(), flags & ~arith::FastMathFlags::reassoc));
}

namespace {

struct OrderSums : shoal::impl::OrderSumsBase<OrderSums> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> ops;
    getOperation().walk([&](linalg::GenericOp op) { ops.push_back(op); });
    for (linalg::GenericOp op : ops) {
      std::optional<SumLanes> sums = planSumLanes(op);
      if (!sums)
        continue;
      if (!hasVectorBody(op, *sums))
        sums->width = 1;
      LDBG() << sums->lanes << " lanes, " << sums->width << " at a time, at "
             << sourcePlace(op.getLoc());
      ++numOrdered;
      emitSumLanes(op, *sums);
    }
    getOperation().walk(forbidReassociation);
  }
};

} // namespace
