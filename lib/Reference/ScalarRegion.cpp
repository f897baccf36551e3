// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ScalarRegion.h"

#include "mlir/IR/Operation.h"

using namespace mlir;

namespace shoal::reference {

void ScalarRegion::define(Value value, Scalar contents) {
  Tensor &tensor = values[value];
  if (tensor.getNumElements() == 0)
    tensor = Tensor(*TensorType::from(value.getType()));
  tensor.getMutableElements()[0] = contents;
}

LogicalResult ScalarRegion::run(Operation &op) {
  auto model = dyn_cast<ReferenceOpInterface>(op);
  if (!model)
    return op.emitOpError() << "has no meaning in the reference interpreter";
  SmallVector<Tensor, 4> operands;
  for (Value operand : op.getOperands())
    operands.push_back(values.at(operand));
  FailureOr<Tensors> results = model.evaluate(operands);
  if (failed(results))
    return failure();
  for (auto [value, result] : llvm::zip_equal(op.getResults(), *results))
    values[value] = result;
  return success();
}

FailureOr<SmallVector<Scalar>>
ScalarRegion::operator()(ArrayRef<Scalar> arguments) {
  for (auto [value, argument] :
       llvm::zip_equal(block.getArguments(), arguments))
    define(value, argument);
  for (Operation &op : block.without_terminator())
    if (failed(run(op)))
      return failure();
  SmallVector<Scalar> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(values.at(value)[0]);
  return results;
}

} // namespace shoal::reference
