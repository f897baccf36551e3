// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-plan-products.

#include "shoal/Conversion/Memory/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Products/PlanEinsum.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-plan-products"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_PLANPRODUCTS
#include "shoal/Conversion/Memory/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numLibrary(DEBUG_TYPE, "Products by the library");
static PassCounter numOneDNN(DEBUG_TYPE, "Products by oneDNN");
static PassCounter numLoops(DEBUG_TYPE, "Products by loops");
static PassCounter numPacked(DEBUG_TYPE, "Tensors packed for the library");
static PassCounter numPrepared(DEBUG_TYPE, "Operands summed or converted");

static void count(const calls::ProductPlan &plan) {
  numLibrary += plan.gemm.has_value();
  numOneDNN += plan.gemm && plan.gemm->library == calls::ProductLibrary::OneDNN;
  numLoops += plan.loops.has_value();
  for (const auto &sum : plan.prepared)
    numPrepared += sum.has_value();
  if (plan.gemm)
    for (const auto &copy : plan.gemm->packing)
      numPacked += copy.has_value();
}

namespace {

struct PlanProducts : shoal::impl::PlanProductsBase<PlanProducts> {
  using PlanProductsBase::PlanProductsBase;

  void runOnOperation() override {
    WalkResult result = getOperation().walk([&](rt::EinsumOp op) {
      return failed(plan(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

private:
  LogicalResult plan(rt::EinsumOp op) const {
    if (std::optional<rt::ProductPlanAttr> known = op.getPlan()) {
      if (known->getPlan().isDevice != machineOf(machine).isDevice)
        return op.emitOpError("is planned for the other kind of machine");
      return success();
    }
    calls::ProductPlan plan = products::planEinsum(
        op.getProduct(), products::modelOf(machineOf(machine), oneDNN));
    count(plan);
    op.setPlanAttr(rt::ProductPlanAttr::get(op.getContext(), std::move(plan)));
    LDBG() << op.getSpec() << " at " << sourcePlace(op.getLoc()) << ": "
           << op.getPlanAttr();
    return success();
  }
};

} // namespace
