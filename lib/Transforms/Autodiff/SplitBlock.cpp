// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SplitBlock.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace shoal;

FailureOr<SplitBlock> SplitBlock::differentiate(Block &block, ValueRange wrt,
                                                ArrayRef<Seed> seeds) {
  OpBuilder builder(block.getTerminator());
  Operation *marker = arith::ConstantOp::create(
      builder, block.getTerminator()->getLoc(), builder.getBoolAttr(true));
  auto gradients = buildGradients(block, wrt, seeds);
  if (failed(gradients))
    return failure();
  SplitBlock result(block, marker);
  result.gradients = std::move(*gradients);
  return result;
}

bool SplitBlock::isForward(Value value, unsigned numArguments) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner() == block &&
           argument.getArgNumber() < numArguments;
  Operation *op = value.getDefiningOp();
  return op->getBlock() == block && op->isBeforeInBlock(marker);
}

llvm::SetVector<Value>
SplitBlock::findResiduals(unsigned numArguments,
                          llvm::function_ref<bool(Value)> isFree) const {
  llvm::SetVector<Value> residuals;
  llvm::DenseSet<Value> seen;
  std::function<void(Value)> visit = [&](Value value) {
    if (!isForward(value, numArguments) || !seen.insert(value).second)
      return;
    bool isArgument = isa<BlockArgument>(value);
    if (isArgument && isFree(value))
      return;
    if (!isArgument && (matchPattern(value, m_Constant()) || isFree(value)))
      llvm::for_each(value.getDefiningOp()->getOperands(), visit);
    else
      residuals.insert(value);
  };
  for (Operation &op : llvm::make_range(std::next(marker->getIterator()),
                                        block->without_terminator().end()))
    op.walk(
        [&](Operation *inner) { llvm::for_each(inner->getOperands(), visit); });
  llvm::for_each(gradients, visit);
  return residuals;
}

void SplitBlock::cloneForward(OpBuilder &builder, IRMapping &mapping) const {
  for (Operation &op : llvm::make_range(block->begin(), marker->getIterator()))
    builder.clone(op, mapping);
}

void SplitBlock::rebuild(Value value, OpBuilder &builder,
                         IRMapping &mapping) const {
  Operation *op = value.getDefiningOp();
  if (!op || mapping.contains(value) || op->getBlock() != block ||
      !op->isBeforeInBlock(marker))
    return;
  for (Value operand : op->getOperands())
    rebuild(operand, builder, mapping);
  builder.clone(*op, mapping);
}

void SplitBlock::cloneBackward(OpBuilder &builder, IRMapping &mapping) const {
  auto end = block->without_terminator().end();
  for (auto it = std::next(marker->getIterator()); it != end; ++it) {
    it->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        rebuild(operand, builder, mapping);
    });
    builder.clone(*it, mapping);
  }
  for (Value gradient : gradients)
    rebuild(gradient, builder, mapping);
}
