// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-insert-checks.

#include "CheckPlan.h"
#include "shoal/Conversion/Checks/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Shoal/IR/MeshAnalysis.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-insert-checks"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_INSERTCHECKS
#include "shoal/Conversion/Checks/Passes.h.inc"
} // namespace shoal

using namespace shoal;

static PassCounter numFinite(DEBUG_TYPE, "Values looked at for NaN");
static PassCounter numReplicas(DEBUG_TYPE, "Values compared between devices");

namespace {

struct InsertChecks : shoal::impl::InsertChecksBase<InsertChecks> {
  using InsertChecksBase::InsertChecksBase;

  void runOnOperation() override {
    const Mesh *mesh = getAnalysis<MeshAnalysis>().getMesh();
    if (!mesh)
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function->hasAttr(kSpmdAttr) || function.isExternal())
        continue;
      Uniformity uniformity(function, *mesh);
      CheckPlan plan(function, uniformity);
      for (Operation *loop : plan.getLoops())
        countIterations(loop);
      for (auto [number, value] : llvm::enumerate(plan.getValues()))
        insert(static_cast<int64_t>(number), value);
    }
  }

private:
  void countIterations(Operation *loop) {
    OpBuilder builder(loop);
    int64_t depth = 0;
    for (Operation *op = loop->getParentOp(); !isa<func::FuncOp>(op);
         op = op->getParentOp())
      depth += op->getRegion(0).getNumArguments() != 0;
    auto tell = [&](rt::IterationEvent event) {
      rt::IterationOp::create(builder, loop->getLoc(), TypeRange(), event,
                              static_cast<uint64_t>(depth),
                              sourcePlace(loop->getLoc()));
    };
    tell(rt::IterationEvent::Begin);
    builder.setInsertionPointAfter(loop);
    tell(rt::IterationEvent::End);
    // The first region to run is the first one: what follows is in its round.
    builder.setInsertionPointToStart(&loop->getRegion(0).front());
    tell(rt::IterationEvent::Next);
  }

  /// Behind what makes it, and behind what counts a loop's rounds.
  static void setPlace(OpBuilder &builder, Value value) {
    builder.setInsertionPointAfterValue(value);
    Block::iterator place = builder.getInsertionPoint();
    while (isa<rt::IterationOp, rt::CheckOp>(*place))
      ++place;
    builder.setInsertionPoint(builder.getInsertionBlock(), place);
  }

  void insert(int64_t number, const CheckedValue &value) {
    bool isFloat = value.isFloat() && (nan || inf);
    bool compares = value.isReplicated && replicas;
    if (!isFloat && !compares)
      return;
    LDBG() << "value " << number << ", of " << value.what << " at "
           << value.place << (compares ? ", is compared" : "");
    numFinite += isFloat;
    numReplicas += compares;
    MLIRContext *context = &getContext();
    OpBuilder builder(context);
    setPlace(builder, value.value);
    auto flag = [&](bool isSet) {
      return isSet ? builder.getUnitAttr() : UnitAttr();
    };
    SmallVector<AxisRefAttr> varying = value.varyingAxes();
    const LayoutNote &layout = value.layout;
    auto sharding = ShardingAttr::get(context, layout.sharding.getMesh(),
                                      layout.sharding.getDims(), {}, {});
    rt::CheckOp::create(
        builder, value.value.getLoc(), TypeRange(), value.value,
        builder.getI64IntegerAttr(number),
        rt::CheckRoleAttr::get(context, value.role),
        builder.getStringAttr(value.what), builder.getStringAttr(value.place),
        sharding, builder.getDenseI64ArrayAttr(layout.globalType.getShape()),
        varying.empty() ? AxesAttr() : AxesAttr::get(context, varying),
        builder.getDenseI64ArrayAttr(value.sources), flag(value.assumesNaN),
        flag(value.assumesInf), flag(isFloat && nan), flag(isFloat && inf),
        flag(compares));
  }
};

} // namespace
