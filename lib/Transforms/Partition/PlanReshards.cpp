// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/MeshAnalysis.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "shoal/Sharding/ManualAxes.h"
#include "shoal/Sharding/ReshardPlan.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "shoal/Transforms/Partition/Passes.h"
#include "llvm/Support/DebugLog.h"

namespace shoal {
#define GEN_PASS_DEF_PLANRESHARDS
#include "shoal/Transforms/Partition/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-plan-reshards"

using namespace mlir;
using namespace shoal;

static PassCounter numSteps(DEBUG_TYPE, "Steps of reshards made");
static PassCounter numShared(DEBUG_TYPE,
                             "Steps that an earlier reshard had made");

/// The attribute's cases are those of StepKind, in its order.
static ReshardStep toStepAttr(StepKind step) {
  auto attr = static_cast<ReshardStep>(step);
  assert(stringifyReshardStep(attr) == nameOf(step));
  return attr;
}

namespace {

/// Writes the chain of one reshard. Steps that an earlier reshard of the same
/// value has taken already are not repeated.
class ChainBuilder {
public:
  ChainBuilder(ReshardOp op, const Mesh &mesh)
      : builder(op), op(op), mesh(mesh), value(op.getInput()),
        at(op.getSource()) {}

  void build() {
    Sharding target = toSharding(op.getTarget(), mesh);
    AxisList manual = manualAxesAround(op, mesh);
    Mesh sourceMesh = inOrderOf(mesh, op.getSource(), op);
    Mesh targetMesh = inOrderOf(mesh, op.getTarget(), op);
    bool isReordered = sourceMesh.deviceIds != targetMesh.deviceIds;
    LDBG() << why().getValue();
    for (const PlannedStep &step :
         planReshard(withManualDim(op.getType().getShape(), manual, mesh),
                     withManualDim(toSharding(op.getSource(), mesh), manual),
                     withManualDim(target, manual), sourceMesh,
                     isReordered ? &targetMesh : nullptr)) {
      LDBG() << "  " << nameOf(step.step) << " -> "
             << toString(step.result,
                         step.inTargetOrder ? targetMesh : sourceMesh);
      FlatSymbolRefAttr symbol =
          (step.inTargetOrder ? op.getTarget() : op.getSource()).getMesh();
      ShardingAttr result =
          toAttr(withoutManualDim(step.result, manual), mesh, symbol);
      if (step.step == StepKind::Reshape)
        addReshape(shapeBehind(step, manual), result);
      else
        addStep(toStepAttr(step.step), result);
    }
    // Two meshes of one order, or the same order written in two ways.
    if (at.getMesh() != op.getTarget().getMesh())
      addStep(ReshardStep::Relabel,
              toAttr(target, mesh, op.getTarget().getMesh()));
    op.replaceAllUsesWith(value);
    op.erase();
  }

private:
  /// The shape of the tensor behind a step, in a region one device's along the
  /// manual axes.
  ArrayRef<int64_t> shapeBehind(const PlannedStep &step,
                                ArrayRef<AxisId> manual) {
    if (step.shape.empty())
      return op.getType().getShape();
    return ArrayRef(step.shape).drop_front(manual.empty() ? 0 : 1);
  }

  void addStep(ReshardStep step, ShardingAttr result) {
    auto isSame = [&](ReshardOp other) { return other.getStep() == step; };
    Value made = findUser<ReshardOp>(result, isSame);
    ++(made ? numShared : numSteps);
    if (!made)
      made = mark(ReshardOp::create(
                      builder, op.getLoc(), value.getType(), value, at, result,
                      ReshardStepAttr::get(builder.getContext(), step), why(),
                      /*removal=*/nullptr),
                  result);
    value = made;
    at = result;
  }

  void addReshape(ArrayRef<int64_t> shape, ShardingAttr result) {
    RankedTensorType type = op.getType().clone(shape);
    if (type == value.getType() && at == result)
      return;
    auto isSame = [&](ReshapeOp other) { return other.getType() == type; };
    Value made = findUser<ReshapeOp>(result, isSame);
    ++(made ? numShared : numSteps);
    if (!made)
      made = mark(ReshapeOp::create(builder, op.getLoc(), type, value), result);
    value = made;
    at = result;
  }

  /// What an earlier op has made already of the value; none where null.
  template <typename OpTy, typename Predicate>
  Value findUser(ShardingAttr result, Predicate isSame) {
    for (Operation *user : value.getUsers()) {
      auto other = dyn_cast<OpTy>(user);
      if (other && getShardingOf(other.getResult()) == result &&
          isSame(other) && other->getBlock() == op->getBlock() &&
          other->isBeforeInBlock(op))
        return other;
    }
    return {};
  }

  Value mark(Operation *made, ShardingAttr sharding) {
    made->setAttr(kShardingsAttr, builder.getArrayAttr({sharding}));
    return made->getResult(0);
  }

  /// Who asked, the whole change of which the step is a part, and what does
  /// away with it.
  StringAttr why() {
    auto text = [&](ShardingAttr attr) {
      return toString(toSharding(attr, mesh), inOrderOf(mesh, attr, op));
    };
    std::string reason = (op.getWhy().value_or("a reshard") + ": " +
                          text(op.getSource()) + " -> " + text(op.getTarget()))
                             .str();
    if (op.getRemoval())
      reason += ("; " + *op.getRemoval()).str();
    return builder.getStringAttr(reason);
  }

  OpBuilder builder;
  ReshardOp op;
  const Mesh &mesh;
  Value value;
  /// The sharding of `value`.
  ShardingAttr at;
};

struct PlanReshards : shoal::impl::PlanReshardsBase<PlanReshards> {
  void runOnOperation() override {
    markAnalysesPreserved<MeshAnalysis>();
    SmallVector<ReshardOp> reshards;
    getOperation().walk([&](ReshardOp op) {
      if (!op.getStep())
        reshards.push_back(op);
    });
    if (reshards.empty())
      return;
    const Mesh *mesh = getAnalysis<MeshAnalysis>().getMesh();
    if (!mesh)
      return signalPassFailure();
    for (ReshardOp op : reshards)
      ChainBuilder(op, *mesh).build();
  }
};

} // namespace
