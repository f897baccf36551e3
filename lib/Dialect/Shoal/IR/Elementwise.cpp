// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// clamp and bitcast_convert.

#include "shoal/Dialect/Shoal/IR/ElementwiseOps.h"
#include "shoal/Dialect/Shoal/IR/TensorBuilder.h"

using namespace mlir;
using namespace shoal;

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/ElementwiseOps.cpp.inc"

//===----------------------------------------------------------------------===//
// clamp
//===----------------------------------------------------------------------===//

LogicalResult ClampOp::verify() {
  RankedTensorType type = tensorTypeOf(getInput());
  for (unsigned i : {0, 2}) {
    Value bound = getOperand(i);
    std::string what = ("operand " + Twine(i)).str();
    if (tensorTypeOf(bound).getRank() != 0 && // (C1)
        failed(verifyShape(*this, what, bound, type.getShape())))
      return failure();
    if (failed(verifyElementType(*this, what, bound,
                                 type.getElementType()))) // (C2)
      return failure();
  }
  return success();
}

/// The larger (or smaller) of two tensors; on i1 true is the larger one.
static Value extreme(TensorBuilder &b, bool larger, Value x, Value y) {
  Type element = tensorTypeOf(x).getElementType();
  if (isa<FloatType>(element))
    return larger ? arith::MaximumFOp::create(b, x, y).getResult()
                  : arith::MinimumFOp::create(b, x, y);
  if (element.isInteger(1))
    return larger ? arith::OrIOp::create(b, x, y).getResult()
                  : arith::AndIOp::create(b, x, y);
  return larger ? arith::MaxSIOp::create(b, x, y).getResult()
                : arith::MinSIOp::create(b, x, y);
}

SmallVector<Value> ClampOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, *this);
  ArrayRef<int64_t> shape = tensorTypeOf(getInput()).getShape();
  auto spread = [&](Value bound) {
    return tensorTypeOf(bound).getShape() == shape
               ? bound
               : b.broadcast(bound, shape, {});
  };
  Value raised = extreme(b, /*larger=*/true, getInput(), spread(getLow()));
  return {extreme(b, /*larger=*/false, raised, spread(getHigh()))};
}

//===----------------------------------------------------------------------===//
// bitcast_convert
//===----------------------------------------------------------------------===//

LogicalResult BitcastConvertOp::verify() {
  RankedTensorType from = tensorTypeOf(getInput());
  RankedTensorType to = tensorTypeOf(getResult());
  if (from.getElementType().isInteger(1)) // (C1)
    return emitOpError() << "operand 0: expected numbers but got i1";
  if (to.getElementType().isInteger(1))
    return emitOpError() << "result 0: expected numbers but got i1";
  int64_t fromWidth = from.getElementTypeBitWidth();
  int64_t toWidth = to.getElementTypeBitWidth();
  SmallVector<int64_t> shape(from.getShape()); // (C2)
  if (fromWidth > toWidth)
    shape.push_back(fromWidth / toWidth);
  if (fromWidth < toWidth) {
    int64_t ratio = toWidth / fromWidth;
    if (shape.empty() || shape.back() != ratio)
      return emitOpError() << "operand 0: expected a last dimension of size "
                           << ratio << ", as many " << from.getElementType()
                           << " as make one " << to.getElementType();
    shape.pop_back();
  }
  return verifyShape(*this, "result 0", getResult(), shape);
}

OpFoldResult BitcastConvertOp::fold(FoldAdaptor) {
  // Outside of functions an op may be its own operand.
  return getInput().getType() == getType() && getInput() != getResult()
             ? getInput()
             : Value();
}
