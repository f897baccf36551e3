// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "shoal/Dialect/Shoal/IR/Addends.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/ManualOps.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "shoal/Transforms/Import/Passes.h"

namespace shoal {
#define GEN_PASS_DEF_EXPOSEADDENDS
#include "shoal/Transforms/Import/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-expose-addends"

using namespace mlir;
using namespace shoal;

static PassCounter numExposed(DEBUG_TYPE,
                              "Arguments and results that are addends");

namespace {

/// A partial value as who calls the program has it:
///
///   tensor<8x4xf32> <@mesh, [{"x"}, {}], partial = {"y"}>
///   tensor<2x8x4xf32> <@mesh, [{"y"}, {"x"}, {}]>
struct Addends {
  RankedTensorType sum, each, stacked;
  ShardingAttr partial, split;

  Addends(RankedTensorType sum, ShardingAttr partial, MeshAttr mesh)
      : sum(sum), partial(partial) {
    MLIRContext *context = partial.getContext();
    SmallVector<int64_t> shape(sum.getShape());
    shape.insert(shape.begin(), 1);
    each = sum.clone(shape);
    shape.front() = sizeOf(partial.getPartial(), mesh);
    stacked = sum.clone(shape);
    SmallVector<DimShardingAttr> dims(partial.getDims());
    dims.insert(dims.begin(),
                DimShardingAttr::get(context, partial.getPartial(),
                                     /*is_open=*/false, /*priority=*/0));
    split = ShardingAttr::get(context, partial.getMesh(), dims,
                              partial.getReplicated(), {});
  }
};

/// Rewrites one function's signature.
class Exposer {
public:
  explicit Exposer(func::FuncOp function)
      : function(function), builder(function.getContext()) {}

  void run() {
    Block &block = function.front();
    for (BlockArgument argument : block.getArguments())
      expose(argument);
    for (OpOperand &operand : block.getTerminator()->getOpOperands())
      expose(operand);
    function.setFunctionType(builder.getFunctionType(
        block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
    for (const auto &[index, split] : arguments) {
      function.setArgAttr(index, kShardingAttr, split);
      function.setArgAttr(index, kAddendsAttr, builder.getUnitAttr());
    }
    for (const auto &[index, split] : results) {
      function.setResultAttr(index, kShardingAttr, split);
      function.setResultAttr(index, builder.getStringAttr(kAddendsAttr),
                             builder.getUnitAttr());
    }
  }

private:
  std::optional<Addends> addendsOf(Value value, ShardingAttr sharding) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || !sharding || sharding.getPartial().empty())
      return std::nullopt;
    ++numExposed;
    MeshOp mesh = lookupMesh(function, sharding.getMesh());
    return Addends(type, sharding, mesh.getMesh());
  }

  void expose(BlockArgument argument) {
    unsigned index = argument.getArgNumber();
    auto addends = addendsOf(argument, function.getArgAttrOfType<ShardingAttr>(
                                           index, kShardingAttr));
    if (!addends)
      return;
    builder.setInsertionPointToStart(&function.front());
    argument.setType(addends->stacked);
    Operation *region = reshape(argument, addends->each, addends->split,
                                addends->sum, addends->sum, addends->partial);
    argument.replaceAllUsesExcept(region->getResult(0), region);
    arguments.push_back({index, addends->split});
  }

  void expose(OpOperand &operand) {
    unsigned index = operand.getOperandNumber();
    auto addends = addendsOf(
        operand.get(),
        function.getResultAttrOfType<ShardingAttr>(index, kShardingAttr));
    if (!addends)
      return;
    builder.setInsertionPoint(operand.getOwner());
    operand.set(reshape(operand.get(), addends->sum, addends->partial,
                        addends->each, addends->stacked, addends->split)
                    ->getResult(0));
    results.push_back({index, addends->split});
  }

  /// What each device along the addends' axes has of `value`, of type `own`, in
  /// the shape of `made`; all of them together are `result`.
  Operation *reshape(Value value, RankedTensorType own, ShardingAttr in,
                     RankedTensorType made, RankedTensorType result,
                     ShardingAttr out) {
    ArrayRef<AxisRefAttr> axes =
        in.getPartial().empty() ? out.getPartial() : in.getPartial();
    auto region = ManualComputationOp::create(
        builder, value.getLoc(), result, in.getMesh(),
        AxesAttr::get(builder.getContext(), axes), value,
        builder.getArrayAttr(in), builder.getArrayAttr(out));
    OpBuilder::InsertionGuard guard(builder);
    Block *body =
        builder.createBlock(&region.getBody(), {}, Type(own), value.getLoc());
    Value shaped =
        ReshapeOp::create(builder, value.getLoc(), made, body->getArgument(0));
    YieldOp::create(builder, value.getLoc(), shaped);
    return region;
  }

  func::FuncOp function;
  OpBuilder builder;
  /// Set at the end: before, they are not those of the types.
  SmallVector<std::pair<unsigned, ShardingAttr>> arguments, results;
};

struct ExposeAddends : shoal::impl::ExposeAddendsBase<ExposeAddends> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isDeclaration() &&
          function.getBody().hasOneBlock())
        Exposer(function).run();
  }
};

} // namespace
