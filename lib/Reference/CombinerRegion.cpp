// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CombinerRegion.h"
#include "StridedView.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace shoal::reference {

CombinerRegion::CombinerRegion(Block &scalars) {
  IRMapping mapping;
  for (BlockArgument argument : scalars.getArguments())
    mapping.map(argument,
                block.addArgument(argument.getType(), argument.getLoc()));
  for (Operation &op : scalars)
    block.push_back(op.clone(mapping));
}

/// Has the value be a tensor of this shape.
static void reshape(Value value, ArrayRef<int64_t> shape) {
  value.setType(
      RankedTensorType::get(shape, getElementTypeOrSelf(value.getType())));
}

static FailureOr<Tensors> evaluate(Operation &op, ArrayRef<Tensor> operands,
                                   ArrayRef<int64_t> shape) {
  auto model = dyn_cast<ReferenceOpInterface>(op);
  if (!model)
    return op.emitOpError() << "has no meaning in the reference interpreter";
  // A constant's type is that of its attribute, which is a scalar.
  if (matchPattern(&op, m_Constant())) {
    FailureOr<Tensors> value = model.evaluate(operands);
    if (failed(value))
      return failure();
    return Tensors{splat(value->front(), shape)};
  }
  for (Value result : op.getResults())
    reshape(result, shape);
  return model.evaluate(operands);
}

FailureOr<Tensors> CombinerRegion::operator()(ArrayRef<Tensor> arguments) {
  ArrayRef<int64_t> shape = arguments.front().getShape();
  llvm::DenseMap<Value, Tensor> values;
  for (auto [value, argument] :
       llvm::zip_equal(block.getArguments(), arguments)) {
    reshape(value, shape);
    values[value] = argument;
  }
  auto valuesOf = [&](Operation &op) {
    return llvm::map_to_vector(
        op.getOperands(), [&](Value operand) { return values.at(operand); });
  };
  for (Operation &op : llvm::drop_end(block)) {
    FailureOr<Tensors> results = evaluate(op, valuesOf(op), shape);
    if (failed(results))
      return failure();
    for (auto [value, result] : llvm::zip_equal(op.getResults(), *results))
      values[value] = result;
  }
  return Tensors(valuesOf(block.back()));
}

} // namespace shoal::reference
