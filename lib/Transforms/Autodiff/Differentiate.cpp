// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Transforms/Autodiff/Differentiate.h"
#include "mlir/Transforms/RegionUtils.h"
#include "shoal/Transforms/Autodiff/Vjp.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "shoal-differentiate"

using namespace mlir;
using namespace shoal;

/// Whether there is no element that a gradient could come from.
static bool isEmpty(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getNumElements() == 0;
}

/// Whether nothing passes through the op: its rule says so, or its results are
/// no floats.
static bool endsPaths(Operation &op) {
  if (llvm::none_of(op.getResultTypes(), isDifferentiable))
    return true;
  auto rule = dyn_cast<DifferentiableOpInterface>(op);
  return rule && !rule.getNoGradientReason().empty();
}

static bool reads(Operation &op, const llvm::DenseSet<Value> &values) {
  auto contains = [&](Value value) { return values.contains(value); };
  if (llvm::any_of(op.getOperands(), contains))
    return true;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op.getRegions(), captured);
  return llvm::any_of(captured, contains);
}

llvm::DenseSet<Value> shoal::findActive(Block &block, ValueRange wrt) {
  llvm::DenseSet<Value> active;
  for (Value value : wrt)
    if (isDifferentiable(value.getType()))
      active.insert(value);
  for (Operation &op : block.without_terminator())
    if (!endsPaths(op) && reads(op, active))
      for (Value result : op.getResults())
        if (isDifferentiable(result.getType()))
          active.insert(result);
  return active;
}

FailureOr<SmallVector<Value>>
shoal::buildGradients(Block &block, ValueRange wrt, ArrayRef<Seed> seeds) {
  llvm::DenseSet<Value> active = findActive(block, wrt);
  Operation *end = block.getTerminator();
  auto forward =
      llvm::to_vector(llvm::make_pointer_range(block.without_terminator()));
  OpBuilder builder(end);
  Cotangents cotangents;
  TensorBuilder seeding(end->getLoc(), builder);
  for (const Seed &seed : seeds)
    cotangents.seed(seeding, seed.value, seed.cotangent);

  // Ops that others have taken the place of.
  SmallVector<Operation *> retired;
  for (Operation *op : llvm::reverse(forward)) {
    bool counts = llvm::any_of(op->getResults(), [&](Value result) {
      return active.contains(result) && cotangents.has(result) &&
             !isEmpty(result);
    });
    if (!counts)
      continue;
    Vjp vjp(op, builder, cotangents, active, retired);
    for (Value result : op->getResults())
      cotangents.join(vjp.b, result);
    auto rule = dyn_cast<DifferentiableOpInterface>(op);
    if (!rule)
      return vjp.refuse("has no derivative rule");
    LDBG() << "passes through " << op->getName() << " at " << op->getLoc();
    if (failed(rule.buildVjp(vjp)))
      return failure();
  }

  for (Operation *op : retired)
    op->erase();

  SmallVector<Value> gradients;
  for (Value value : wrt) {
    cotangents.join(seeding, value);
    Value gradient = active.contains(value) ? cotangents.of(value) : Value();
    gradients.push_back(gradient ? gradient : seeding.zeros(value.getType()));
  }
  return gradients;
}
