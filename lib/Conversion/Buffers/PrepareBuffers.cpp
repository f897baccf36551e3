// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass --shoal-prepare-buffers.

#include "../Utils/ArgumentAttrs.h"
#include "../Utils/HeldValues.h"
#include "ViewRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "shoal/Conversion/Buffers/Passes.h"
#include "shoal/CostModel/SourcePlace.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-prepare-buffers"

using namespace mlir;

namespace shoal {
#define GEN_PASS_DEF_PREPAREBUFFERS
#include "shoal/Conversion/Buffers/Passes.h.inc"
} // namespace shoal

static shoal::PassCounter numReused(DEBUG_TYPE,
                                    "Results written over an operand");

/// Ops on buffers are not merged any more: it has done its work.
static void removeBarrier(shoal::OptimizationBarrierOp op) {
  op->replaceAllUsesWith(op->getOperands());
  op->erase();
}

/// A constant of one value everywhere becomes a fill.
static void fillSplat(arith::ConstantOp op) {
  auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
  if (!splat)
    return;
  OpBuilder builder(op);
  Value scalar = arith::ConstantOp::create(builder, op.getLoc(),
                                           splat.getSplatValue<TypedAttr>());
  auto type = cast<RankedTensorType>(op.getType());
  Value empty = tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(),
                                        type.getElementType());
  op.replaceAllUsesWith(
      linalg::FillOp::create(builder, op.getLoc(), scalar, empty).getResult(0));
  op.erase();
}

/// Every use gets a copy of `op`, but for one beside it: in front of a loop it
/// would be held while the loop runs, and copied in each step that writes it.
static void cloneForEachUse(Operation *op) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : op->getUses())
    uses.push_back(&use);
  if (uses.empty()) // Of memrefs a fill has no result.
    return;
  auto *beside = llvm::find_if(uses, [&](OpOperand *use) {
    return use->getOwner()->getBlock() == op->getBlock();
  });
  bool isKept = beside != uses.end();
  if (isKept)
    uses.erase(beside);
  for (OpOperand *use : uses) {
    OpBuilder builder(use->getOwner());
    use->set(builder.clone(*op)->getResult(0));
  }
  if (!isKept)
    op->erase();
}

/// Moves an op, with the empty tensors that are its alone, to where it is used
/// first: until then its buffer would hold no more than a constant, or what
/// arguments hold, too.
static void moveToUse(Operation *op) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers()) {
    Operation *around = op->getBlock()->findAncestorOpInBlock(*user);
    if (!around)
      return;
    if (!first || around->isBeforeInBlock(first))
      first = around;
  }
  if (!first)
    return;
  op->moveBefore(first);
  for (Value operand : op->getOperands())
    if (auto empty = operand.getDefiningOp<tensor::EmptyOp>();
        empty && empty->hasOneUse() && empty->getBlock() == op->getBlock())
      empty->moveBefore(op);
}

/// Whether the op computes something of the function's arguments alone, which
/// are there all the time, and need not come at the same time on all devices.
static bool readsArgumentsAlone(Operation *op) {
  auto call = dyn_cast<shoal::rt::RuntimeCallOpInterface>(op);
  if (!isa<DestinationStyleOpInterface>(op) || !isMemoryEffectFree(op) ||
      isa<shoal::rt::CustomCallOp>(op) ||
      (call && call.getCollectiveNumber()) || op->getNumResults() == 0 ||
      !isa<func::FuncOp>(op->getParentOp()))
    return false;
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return llvm::all_of(values, [](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? !shoal::isDonated(argument)
                    : matchPattern(value, m_Constant()) ||
                          value.getDefiningOp<tensor::EmptyOp>();
  });
}

/// An op that makes little of something large moves to where its operands are
/// there, so that what is large can end.
static void moveToOperands(linalg::GenericOp op) {
  int64_t made = 0, largest = 0;
  for (Value result : op->getResults())
    made += shoal::bytesOf(result);
  llvm::SetVector<Value> values(op.getInputs().begin(), op.getInputs().end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  Operation *last = nullptr;
  for (Value value : values) {
    Operation *maker = value.getDefiningOp();
    if (!maker || maker->getBlock() != op->getBlock())
      continue;
    largest = std::max(largest, shoal::bytesOf(value));
    if (!last || last->isBeforeInBlock(maker))
      last = maker;
  }
  if (!last || op->getNumResults() == 0 || made * 8 > largest)
    return;
  SmallVector<Operation *> empties;
  for (Value init : op.getOutputs()) {
    auto empty = init.getDefiningOp<tensor::EmptyOp>();
    if (!empty || !empty->hasOneUse())
      return;
    empties.push_back(empty);
  }
  op->moveAfter(last);
  for (Operation *empty : empties)
    empty->moveBefore(op);
}

/// Drops operands that the bodies no longer read.
static void removeUnusedInputs(func::FuncOp func) {
  RewritePatternSet patterns(func.getContext());
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  walkAndApplyPatterns(func, std::move(patterns));
}

/// Whether nothing in the block reads `value` behind `op`, but for `last`, nor
/// the body of `op` at places of its own choice.
static bool isLastReader(Operation *op, Value value, Operation *last) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(user))
      return isLastReader(op, user->getResult(0), last);
    Operation *around = op->getBlock()->findAncestorOpInBlock(*user);
    return user == op || user == last ||
           (around && around != op && around->isBeforeInBlock(op));
  });
}

/// Whether `input` is a donated argument, read for the last time, in whose
/// memory `result` is to be made.
static bool donates(OpOperand &input, OpResult result) {
  auto func = dyn_cast<func::FuncOp>(input.getOwner()->getParentOp());
  auto argument = dyn_cast<BlockArgument>(input.get());
  if (!func || !argument || argument.getOwner() != &func.front())
    return false;
  auto donors = func->getAttrOfType<DenseI64ArrayAttr>(shoal::kDonorsAttr);
  return donors && isLastReader(input.getOwner(), argument, nullptr) &&
         llvm::any_of(result.getUses(), [&](OpOperand &use) {
           return isa<func::ReturnOp>(use.getOwner()) &&
                  donors[use.getOperandNumber()] == argument.getArgNumber();
         });
}

/// Whether `op` may write over the value that `input` reads: nothing else reads
/// it, and it was computed here, not outside of a loop around the op.
static bool diesIn(OpOperand &input) {
  Value value = input.get();
  return value.hasOneUse() &&
         value.getParentBlock() == input.getOwner()->getBlock() &&
         isa_and_present<linalg::LinalgOp, shoal::rt::RuntimeCallOpInterface,
                         scf::WhileOp>(value.getDefiningOp());
}

/// What is computed from a carried value element by element, and copied over
/// it, is computed there: a loop's sum, or its counter.
static void updateInPlace(linalg::CopyOp copy) {
  auto op = copy.getInputs()[0].getDefiningOp<linalg::GenericOp>();
  auto carried = dyn_cast<BlockArgument>(copy.getOutputs()[0]);
  if (!op || !carried || carried.getOwner() != op->getBlock() ||
      op->getNumResults() != 1 || !op->hasOneUse() ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !isLastReader(op, carried, copy))
    return;
  OpOperand &init = op.getDpsInitsMutable()[0];
  AffineMap map = op.getMatchingIndexingMap(&init);
  if (!init.get().getDefiningOp<tensor::EmptyOp>() ||
      init.get().getType() != carried.getType() ||
      op.payloadUsesValueFromOperand(&init) || !map.isPermutation())
    return;
  SmallVector<OpOperand *> reads =
      llvm::filter_to_vector(op.getDpsInputOperands(), [&](OpOperand *input) {
        return input->get() == carried;
      });
  if (reads.empty() || llvm::any_of(reads, [&](OpOperand *input) {
        return op.getMatchingIndexingMap(input) != map;
      }))
    return;
  for (OpOperand *input : reads)
    op.getMatchingBlockArgument(input).replaceAllUsesWith(
        op.getMatchingBlockArgument(&init));
  init.set(carried);
  copy.replaceAllUsesWith(op.getResults());
  copy.erase();
}

/// An op whose loops are all parallel writes its result over an input that it
/// reads element by element in the same order and that dies here: best over the
/// argument that is donated for it.
static void reuseInput(linalg::GenericOp op) {
  if (op.getNumParallelLoops() != op.getNumLoops())
    return;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    if (!init.get().getDefiningOp<tensor::EmptyOp>() ||
        op.payloadUsesValueFromOperand(&init) ||
        !op.getMatchingIndexingMap(&init).isPermutation())
      continue;
    auto suits = [&](OpOperand *input) {
      return input->get().getType() == init.get().getType() &&
             op.getMatchingIndexingMap(input) ==
                 op.getMatchingIndexingMap(&init);
    };
    SmallVector<OpOperand *> inputs = op.getDpsInputOperands();
    auto *found = llvm::find_if(inputs, [&](OpOperand *input) {
      return suits(input) && donates(*input, op.getTiedOpResult(&init));
    });
    if (found == inputs.end())
      found = llvm::find_if(inputs, [&](OpOperand *input) {
        return suits(input) && diesIn(*input);
      });
    if (found == inputs.end())
      continue;
    LDBG() << "the op at " << shoal::sourcePlace(op.getLoc())
           << " writes over its operand " << (*found)->getOperandNumber();
    ++numReused;
    init.set((*found)->get());
    op.getMatchingBlockArgument(*found).replaceAllUsesWith(
        op.getMatchingBlockArgument(&init));
  }
}

namespace {

struct PrepareBuffers : shoal::impl::PrepareBuffersBase<PrepareBuffers> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    func.walk(removeBarrier);
    func.walk([](arith::ConstantOp op) { fillSplat(op); });
    SmallVector<Operation *> fills, empties;
    SmallVector<linalg::GenericOp> generics;
    func.walk([&](linalg::FillOp op) { fills.push_back(op); });
    for (Operation *op : fills)
      cloneForEachUse(op);
    func.walk([&](tensor::EmptyOp op) { empties.push_back(op); });
    for (Operation *op : empties)
      cloneForEachUse(op);
    fills.clear();
    func.walk([&](linalg::FillOp op) { fills.push_back(op); });
    for (Operation *op : fills)
      moveToUse(op);
    SmallVector<Operation *> early;
    func.walk([&](Operation *op) {
      if (readsArgumentsAlone(op))
        early.push_back(op);
    });
    for (Operation *op : early)
      moveToUse(op);
    func.walk(shoal::viewRows);
    func.walk([&](linalg::GenericOp op) { generics.push_back(op); });
    for (linalg::GenericOp op : generics)
      moveToOperands(op);
    func.walk([](linalg::CopyOp op) { updateInPlace(op); });
    func.walk([](linalg::GenericOp op) { reuseInput(op); });
    removeUnusedInputs(func);
    shoal::changeArgAttrs(func, [&](unsigned number, NamedAttrList &attrs) {
      if (!isa<TensorType>(func.getArgumentTypes()[number]))
        return;
      bool isDonated = attrs.get(shoal::kDonatedAttr) != nullptr;
      attrs.set(bufferization::BufferizationDialect::kWritableAttrName,
                BoolAttr::get(&getContext(), isDonated));
    });
  }
};

} // namespace
