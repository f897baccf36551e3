// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "StepEmitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/LocationNotes.h"
#include "shoal/Dialect/Shoal/IR/MeshAnalysis.h"
#include "shoal/Dialect/Shoal/IR/SignatureNames.h"
#include "shoal/Dialect/Shoal/IR/WrittenShardings.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "shoal/Transforms/Partition/Localizer.h"
#include "shoal/Transforms/Partition/Passes.h"
#include "llvm/Support/DebugLog.h"

namespace shoal {
#define GEN_PASS_DEF_LOCALIZE
#include "shoal/Transforms/Partition/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-localize"

using namespace mlir;
using namespace shoal;

static PassCounter numModels(DEBUG_TYPE, "Ops localised by a model of theirs");
static PassCounter numByRule(DEBUG_TYPE, "Ops localised by their factor rule");

namespace {

/// Rewrites one function: local ops are built next to the global ones, which
/// go away at the end.
class FunctionLocalizer {
public:
  FunctionLocalizer(func::FuncOp function, const Mesh &mesh)
      : function(function), mesh(mesh),
        symbol(FlatSymbolRefAttr::get(function.getContext(), mesh.name)),
        builder(function.getContext()) {}

  LogicalResult run() {
    SmallVector<Operation *> globalOps;
    for (Operation &op : function.front())
      globalOps.push_back(&op);
    if (failed(localizeArguments()))
      return failure();
    for (Operation *op : globalOps) {
      builder.setInsertionPoint(op);
      if (failed(isa<func::ReturnOp>(op) ? localizeReturn(op) : localize(op)))
        return failure();
    }
    for (Operation *op : llvm::reverse(globalOps))
      op->erase();
    function.front().eraseArguments(0, localArgumentTypes.size());
    setFunctionType();
    return success();
  }

private:
  FailureOr<Sharding> shardingOf(Value value, Operation *user) {
    if (ShardingAttr attr = getShardingOf(value))
      return toSharding(attr, mesh);
    user->emitError("expected every value to have a sharding; "
                    "--shoal-assign chooses them");
    return failure();
  }

  /// Adds the local arguments behind the global ones, which global ops use to
  /// the end.
  LogicalResult localizeArguments() {
    SmallVector<BlockArgument> globalArguments(function.getArguments());
    for (BlockArgument argument : globalArguments) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!type)
        return function.emitError()
               << describeArgument(function, argument.getArgNumber())
               << ": expected a tensor but got " << argument.getType();
      FailureOr<Sharding> sharding = shardingOf(argument, function);
      if (failed(sharding))
        return failure();
      localArgumentTypes.push_back(localType(type, *sharding, mesh));
      function.setArgAttr(argument.getArgNumber(), kGlobalTypeAttr,
                          TypeAttr::get(type));
      function.removeArgAttr(argument.getArgNumber(), kWrittenAttr);
      local.map(argument, function.front().addArgument(
                              localArgumentTypes.back(), argument.getLoc()));
    }
    return success();
  }

  LogicalResult localize(Operation *op) {
    if (auto reshard = dyn_cast<ReshardOp>(op))
      return localizeReshard(reshard);
    if (auto join = dyn_cast<JoinOpInterface>(op))
      return localizeJoins(join);
    if (auto manual = dyn_cast<BoundaryOpInterface>(op))
      return localizeManualRegions(manual);
    if (!isa<FactorRuleOpInterface>(op) && !isa<LocalizeOpInterface>(op))
      return op->emitOpError("cannot be partitioned: it has no factor rule");

    SmallVector<Value> operands;
    SmallVector<Sharding> operandShardings, resultShardings;
    for (Value operand : op->getOperands()) {
      FailureOr<Sharding> sharding = shardingOf(operand, op);
      if (failed(sharding))
        return failure();
      operands.push_back(local.lookup(operand));
      operandShardings.push_back(*sharding);
    }
    for (Value result : op->getResults()) {
      FailureOr<Sharding> sharding = shardingOf(result, op);
      if (failed(sharding))
        return failure();
      resultShardings.push_back(*sharding);
    }

    Localizer localizer(builder, mesh, symbol, op, operands, operandShardings,
                        resultShardings);
    SmallVector<Value> results;
    auto forwarding = dyn_cast<ForwardingOpInterface>(op);
    if (forwarding && forwarding.forwardsOperands()) {
      local.map(op->getResults(), localizer.cloneLocally()->getResults());
      noteLayouts(op);
      return success();
    }
    auto model = dyn_cast<LocalizeOpInterface>(op);
    LDBG() << op->getName() << " at " << op->getLoc()
           << (model ? " by its model" : " by its factor rule");
    ++(model ? numModels : numByRule);
    if (failed(model ? model.localize(localizer, results)
                     : localizer.localizeByRule(results)))
      return failure();
    local.map(op->getResults(), results);
    noteLayouts(op);
    return success();
  }

  /// Leaves behind what the local values are shards of. A value that stood
  /// there before, an operand that is the result, has its own note.
  void noteLayouts(Operation *op) {
    auto origins = op->getAttrOfType<ArrayAttr>(kOriginAttr);
    AxesAttr manual;
    if (AxisList axes = manualAxesAround(op, mesh); !axes.empty())
      manual = toAxesAttr(axes, mesh, op->getContext());
    for (OpResult result : op->getResults()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      auto made = dyn_cast_or_null<OpResult>(local.lookupOrNull(result));
      ShardingAttr sharding = getShardingOf(result);
      if (!type || !made || !sharding)
        continue;
      StringAttr origin;
      if (origins && result.getResultNumber() < origins.size())
        origin = dyn_cast<StringAttr>(origins[result.getResultNumber()]);
      noteLayout(made, {type, sharding, manual, origin});
    }
  }

  FailureOr<SmallVector<Type>> localTypes(ValueRange values, Operation *op) {
    SmallVector<Type> types;
    for (Value value : values) {
      FailureOr<Sharding> sharding = shardingOf(value, op);
      if (failed(sharding))
        return failure();
      types.push_back(
          localType(cast<RankedTensorType>(value.getType()), *sharding, mesh));
    }
    return types;
  }

  SmallVector<Value> localValues(ValueRange values) {
    return llvm::map_to_vector(
        values, [&](Value value) { return local.lookup(value); });
  }

  /// The same op on local types, its regions filled in the same way.
  LogicalResult localizeJoins(JoinOpInterface op) {
    FailureOr<SmallVector<Type>> types = localTypes(op->getResults(), op);
    if (failed(types))
      return failure();
    OperationState state(op.getLoc(), op->getName(),
                         localValues(op->getOperands()), *types);
    for (NamedAttribute attribute : op->getAttrs())
      if (attribute.getName() != kShardingsAttr &&
          attribute.getName() != kOriginAttr)
        state.addAttribute(attribute.getName(), attribute.getValue());
    for (size_t i = 0; i < op->getNumRegions(); ++i)
      state.addRegion();
    Operation *made = builder.create(state);
    local.map(op->getResults(), made->getResults());
    noteLayouts(op);
    OpBuilder::InsertionGuard guard(builder);
    for (auto [from, to] :
         llvm::zip_equal(op->getRegions(), made->getRegions()))
      if (failed(localizeRegion(from, to, op)))
        return failure();
    return success();
  }

  /// The region takes the op's place: it is written for one device, and what
  /// is not has been partitioned like the rest.
  LogicalResult localizeManualRegions(BoundaryOpInterface op) {
    SmallVector<Boundary> boundaries = op.getBoundaries();
    FlatSymbolRefAttr outer = std::exchange(symbol, op.getManualMesh());
    for (const Boundary &boundary : boundaries)
      if (boundary.isEntry)
        local.map(boundary.value, enterRegion(op, boundary));
    for (Region &region : op->getRegions())
      for (Operation &nested : region.front().without_terminator())
        if (failed(localize(&nested)))
          return failure();
    for (const Boundary &boundary : boundaries)
      if (!boundary.isEntry)
        local.map(boundary.value, local.lookup(boundary.source->get()));
    symbol = outer;
    return success();
  }

  /// The operand, rows past its end zero where manual axes split it.
  Value enterRegion(BoundaryOpInterface op, const Boundary &boundary) {
    Value value = boundary.source->get();
    Sharding sharding = toSharding(getShardingOf(value), mesh);
    AxisList manual = manualAxesOf(op, mesh);
    SmallVector<int64_t> dims;
    for (auto [d, axes] : llvm::enumerate(sharding.dims))
      if (llvm::any_of(axes, [&](AxisId axis) {
            return llvm::is_contained(manual, axis);
          }))
        dims.push_back(d);
    auto type = cast<RankedTensorType>(value.getType());
    return Localizer(builder, mesh, symbol, op, {}, {}, {})
        .maskPadding(local.lookup(value), type.getShape(), sharding, dims,
                     builder.getZeroAttr(type.getElementType()));
  }

  LogicalResult localizeRegion(Region &from, Region &to, Operation *op) {
    FailureOr<SmallVector<Type>> types = localTypes(from.getArguments(), op);
    if (failed(types))
      return failure();
    SmallVector<Location> locations(types->size(), op->getLoc());
    builder.createBlock(&to, to.end(), *types, locations);
    local.map(from.getArguments(), to.getArguments());
    for (Operation &nested : from.front().without_terminator())
      if (failed(localize(&nested)))
        return failure();
    Operation *terminator = from.front().getTerminator();
    builder.clone(*terminator)
        ->setOperands(localValues(terminator->getOperands()));
    return success();
  }

  LogicalResult localizeReshard(ReshardOp op) {
    if (!op.getStep())
      return op.emitOpError("expected a step; --shoal-plan-reshards adds it");
    local.map(op.getResult(),
              emitStep(builder, mesh, op, local.lookup(op.getInput())));
    noteLayouts(op);
    return success();
  }

  LogicalResult localizeReturn(Operation *op) {
    SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      auto attr = function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr);
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (!attr || !type)
        return op->emitError()
               << "result " << i << ": expected a tensor with a sharding";
      function.setResultAttr(i, kGlobalTypeAttr, TypeAttr::get(type));
      function.removeResultAttr(
          i, StringAttr::get(function.getContext(), kWrittenAttr));
      operands.push_back(local.lookup(operand));
      localResultTypes.push_back(localType(type, toSharding(attr, mesh), mesh));
    }
    func::ReturnOp::create(builder, op->getLoc(), operands);
    return success();
  }

  void setFunctionType() {
    function.setFunctionType(FunctionType::get(
        function.getContext(), localArgumentTypes, localResultTypes));
    function->setAttr(kSpmdAttr, UnitAttr::get(function.getContext()));
  }

  func::FuncOp function;
  const Mesh &mesh;
  FlatSymbolRefAttr symbol;
  OpBuilder builder;
  IRMapping local;
  SmallVector<Type> localArgumentTypes, localResultTypes;
};

/// What the products of the global program compute, so that statistics can say
/// how much of it devices compute twice.
void recordGlobalFlops(func::FuncOp function) {
  if (function->hasAttr(kGlobalEinsumFlopsAttr)) // --shoal-assign knows more
    return;
  double flops = countArithmetic(function).mostEinsumFlops;
  function->setAttr(kGlobalEinsumFlopsAttr,
                    Builder(function.getContext()).getF64FloatAttr(flops));
}

struct Localize : shoal::impl::LocalizeBase<Localize> {
  LogicalResult initialize(MLIRContext *context) override {
    return verifyLocalizeModels(context);
  }

  void runOnOperation() override {
    const Mesh *mesh = getAnalysis<MeshAnalysis>().getMesh();
    if (!mesh)
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isDeclaration() || function->hasAttr(kSpmdAttr))
        continue;
      if (!function.getBody().hasOneBlock()) {
        function.emitError("expected a function of one block");
        return signalPassFailure();
      }
      recordGlobalFlops(function);
      if (failed(FunctionLocalizer(function, *mesh).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
