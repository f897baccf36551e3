// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PullBack.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Transforms/Autodiff/Differentiate.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace shoal;

LogicalResult
shoal::pullBack(Vjp &vjp, ValueRange cotangents,
                function_ref<SmallVector<Value>(TensorBuilder &)> write) {
  // In a block of their own, so that nothing else is differentiated; among
  // others, as rules look symbols up.
  Block *scratch = new Block;
  vjp.b.getInsertionBlock()->getParent()->push_back(scratch);
  llvm::scope_exit remove([&] {
    scratch->dropAllReferences();
    scratch->erase();
  });
  OpBuilder inside = OpBuilder::atBlockBegin(scratch);
  TensorBuilder b(vjp.b.getLoc(), inside);
  SmallVector<Value> values = write(b);
  Operation *end = YieldOp::create(b, values);
  SmallVector<Seed> seeds;
  for (auto [value, cotangent] : llvm::zip_equal(values, cotangents))
    seeds.push_back({value, cotangent});
  llvm::SetVector<Value> wanted;
  for (Value operand : vjp.op->getOperands())
    if (vjp.wants(operand))
      wanted.insert(operand);
  auto gradients = buildGradients(*scratch, wanted.getArrayRef(), seeds);
  end->erase();
  if (failed(gradients))
    return failure();
  SmallVector<Operation *> built =
      llvm::to_vector(llvm::make_pointer_range(*scratch));
  vjp.b.getInsertionBlock()->getOperations().splice(vjp.b.getInsertionPoint(),
                                                    scratch->getOperations());
  for (auto [operand, gradient] : llvm::zip_equal(wanted, *gradients))
    vjp.add(operand, gradient);
  llvm::SmallPtrSet<Operation *, 4> read;
  for (Value gradient : *gradients)
    if (Operation *op = gradient.getDefiningOp())
      read.insert(op);
  for (Operation *op : llvm::reverse(built))
    if (!read.contains(op) && isOpTriviallyDead(op))
      op->erase();
  return success();
}
