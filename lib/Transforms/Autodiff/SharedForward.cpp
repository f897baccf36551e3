// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SharedForward.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace shoal;

static llvm::SetVector<Value> readBy(Operation &op) {
  llvm::SetVector<Value> values(op.operand_begin(), op.operand_end());
  getUsedValuesDefinedAbove(op.getRegions(), values);
  return values;
}

/// The call of the function in front of that of its derivative.
static func::CallOp findForwardCall(func::CallOp derivative,
                                    func::FuncOp function) {
  auto arguments =
      derivative.getOperands().take_front(function.getNumArguments());
  for (Operation *op = derivative->getPrevNode(); op; op = op->getPrevNode())
    if (auto call = dyn_cast<func::CallOp>(op))
      if (call.getCallee() == function.getName() &&
          llvm::equal(call.getOperands(), arguments))
        return call;
  return nullptr;
}

/// The ops of the derivative that its function's results need, and those that
/// have effects without the cotangents. What depends on these is none of them.
static llvm::SmallPtrSet<Operation *, 32>
findForwardOps(func::FuncOp derivative, func::FuncOp of) {
  Block &body = derivative.front();
  llvm::DenseSet<Value> late;
  late.insert_range(body.getArguments().drop_front(of.getNumArguments()));
  for (Operation &op : body)
    if (llvm::any_of(readBy(op), [&](Value v) { return late.contains(v); }))
      late.insert_range(op.getResults());
  llvm::DenseSet<Value> needed;
  needed.insert_range(
      body.getTerminator()->getOperands().take_front(of.getNumResults()));
  llvm::SmallPtrSet<Operation *, 32> forward;
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    llvm::SetVector<Value> read = readBy(op);
    auto isLate = [&](Value value) { return late.contains(value); };
    auto isNeeded = [&](Value value) { return needed.contains(value); };
    if (llvm::any_of(read, isLate) ||
        (isMemoryEffectFree(&op) && llvm::none_of(op.getResults(), isNeeded)))
      continue;
    forward.insert(&op);
    needed.insert_range(read);
  }
  return forward;
}

static void share(func::CallOp forwardCall, func::CallOp call,
                  func::FuncOp derivative, func::FuncOp of) {
  auto forward = findForwardOps(derivative, of);
  Block &body = derivative.front();
  IRMapping mapping;
  mapping.map(body.getArguments(), call.getOperands());
  OpBuilder early(forwardCall), late(call);
  for (Operation &op : body.without_terminator())
    (forward.contains(&op) ? early : late).clone(op, mapping);
  auto replace = [&](func::CallOp replaced) {
    for (auto [result, value] :
         llvm::zip(replaced.getResults(), body.getTerminator()->getOperands()))
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    replaced.erase();
  };
  replace(forwardCall);
  replace(call);
}

void shoal::shareForward(func::FuncOp caller,
                         const FunctionsOfDerivatives &functions) {
  SmallVector<func::CallOp> calls;
  caller.walk([&](func::CallOp call) { calls.push_back(call); });
  auto module = caller->getParentOfType<ModuleOp>();
  for (func::CallOp call : calls) {
    func::FuncOp of = functions.lookup(call.getCallee());
    func::CallOp forwardCall = of ? findForwardCall(call, of) : func::CallOp();
    if (!forwardCall)
      continue;
    auto derivative = module.lookupSymbol<func::FuncOp>(call.getCallee());
    share(forwardCall, call, derivative, of);
  }
}
