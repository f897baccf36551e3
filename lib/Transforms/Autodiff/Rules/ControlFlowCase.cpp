// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The gradient of a choice is a choice by the same index. What its branches
// read of the forward ones are further results, which branches share by their
// types.

#include "../SplitBlock.h"
#include "Rules.h"
#include "mlir/Transforms/RegionUtils.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"

using namespace mlir;
using namespace shoal;

namespace {

class ChoiceReversal {
public:
  ChoiceReversal(CaseOp op, Vjp &vjp) : op(op), vjp(vjp) {}

  LogicalResult run();

private:
  LogicalResult differentiateBranches();
  void assignSlots();
  CaseOp buildForward();
  void buildBackward(CaseOp forward);

  CaseOp op;
  Vjp &vjp;
  /// Values from around the op that have cotangents.
  SmallVector<Value> captured;
  /// The op whose branches are differentiated; it goes in the end.
  CaseOp scratch;
  SmallVector<SplitBlock> branches;
  SmallVector<llvm::SetVector<Value>> residuals;
  /// The types of further results, and for each branch's residuals their
  /// numbers.
  SmallVector<Type> slots;
  SmallVector<SmallVector<unsigned>> places;
};

} // namespace

LogicalResult ChoiceReversal::differentiateBranches() {
  for (Region &region : scratch.getBranches()) {
    Block &block = region.front();
    SmallVector<Seed> seeds;
    for (auto [i, value] :
         llvm::enumerate(block.getTerminator()->getOperands()))
      if (Value g = vjp.cotangent(i))
        seeds.push_back({value, g});
    auto branch = SplitBlock::differentiate(block, captured, seeds);
    if (failed(branch))
      return failure();
    residuals.push_back(
        branch->findResiduals(/*numArguments=*/0, [](Value) { return false; }));
    branches.push_back(std::move(*branch));
  }
  return success();
}

void ChoiceReversal::assignSlots() {
  for (const llvm::SetVector<Value> &values : residuals) {
    llvm::SmallDenseSet<unsigned> taken;
    SmallVector<unsigned> &mine = places.emplace_back();
    for (Value value : values) {
      unsigned slot = 0;
      while (slot < slots.size() &&
             (slots[slot] != value.getType() || taken.contains(slot)))
        ++slot;
      if (slot == slots.size())
        slots.push_back(value.getType());
      taken.insert(slot);
      mine.push_back(slot);
    }
  }
}

CaseOp ChoiceReversal::buildForward() {
  OpBuilder at(op);
  TensorBuilder b(op.getLoc(), at);
  SmallVector<Type> types(op.getResultTypes());
  llvm::append_range(types, slots);
  auto forward =
      CaseOp::create(b, types, op.getIndex(), op.getBranches().size());
  for (auto [i, region] : llvm::enumerate(scratch.getBranches())) {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&forward.getBranches()[i]);
    IRMapping mapping;
    branches[i].cloneForward(b, mapping);
    SmallVector<Value> results;
    for (Value value : region.front().getTerminator()->getOperands())
      results.push_back(mapping.lookupOrDefault(value));
    SmallVector<Value> kept(slots.size());
    for (auto [slot, value] : llvm::zip_equal(places[i], residuals[i]))
      kept[slot] = mapping.lookupOrDefault(value);
    for (auto [value, type] : llvm::zip_equal(kept, slots))
      results.push_back(value ? value : b.zeros(type));
    YieldOp::create(b, results);
  }
  return forward;
}

void ChoiceReversal::buildBackward(CaseOp forward) {
  TensorBuilder &b = vjp.b;
  auto backward = CaseOp::create(b, ValueRange(captured).getTypes(),
                                 op.getIndex(), op.getBranches().size());
  for (auto [i, branch] : llvm::enumerate(branches)) {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&backward.getBranches()[i]);
    IRMapping mapping;
    for (auto [slot, value] : llvm::zip_equal(places[i], residuals[i]))
      mapping.map(value, forward.getResult(op.getNumResults() + slot));
    branch.cloneBackward(b, mapping);
    SmallVector<Value> results;
    for (Value gradient : branch.gradients)
      results.push_back(mapping.lookupOrDefault(gradient));
    YieldOp::create(b, results);
  }
  for (auto [value, gradient] :
       llvm::zip_equal(captured, backward.getResults()))
    vjp.add(value, gradient);
}

LogicalResult ChoiceReversal::run() {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(op.getBranches(), used);
  for (Value value : used)
    if (vjp.wants(value))
      captured.push_back(value);
  scratch = cast<CaseOp>(OpBuilder(op).clone(*op));
  LogicalResult made = differentiateBranches();
  if (succeeded(made)) {
    assignSlots();
    CaseOp forward = buildForward();
    buildBackward(forward);
    vjp.replaceForward(forward.getResults().take_front(op.getNumResults()));
  }
  scratch.erase();
  return made;
}

namespace {

struct Case : DifferentiableOpInterface::ExternalModel<Case, CaseOp> {
  LogicalResult buildVjp(Operation *operation, Vjp &vjp) const {
    return ChoiceReversal(cast<CaseOp>(operation), vjp).run();
  }
};

} // namespace

void shoal::registerControlFlowCaseDerivativeRules(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    CaseOp::attachInterface<Case>(*context);
  });
}
