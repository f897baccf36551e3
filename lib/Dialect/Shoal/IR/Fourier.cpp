// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// fft.

#include "shoal/Dialect/Shoal/IR/FourierOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

using namespace mlir;
using namespace shoal;

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/FourierOps.cpp.inc"

int64_t FftOp::getLength() {
  Value whole = getInputs().size() == 1 ? getInputs()[0] : getResults()[0];
  return tensorTypeOf(whole).getDimSize(getDim());
}

/// (C1), of the operands or of the results.
static LogicalResult verifyHalves(Operation *op, StringRef what,
                                  ValueRange values) {
  if (values.size() != 1 && values.size() != 2)
    return op->emitOpError()
           << "expected one or two " << what
           << "s, a real or a complex line's, but got " << values.size();
  if (values.size() == 1)
    return success();
  return verifyShape(op, what + Twine(" 1"), values[1],
                     tensorTypeOf(values[0]).getShape());
}

/// (C2)
static LogicalResult verifyElements(FftOp op) {
  Type element = tensorTypeOf(op.getInputs()[0]).getElementType();
  if (!element.isF32() && !element.isF64())
    return op.emitOpError()
           << "operand 0: expected elements of type f32 or f64 but got "
           << element;
  for (auto [i, input] : llvm::enumerate(op.getInputs()))
    if (failed(verifyElementType(op, "operand " + Twine(i), input, element)))
      return failure();
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    if (failed(verifyElementType(op, "result " + Twine(i), result, element)))
      return failure();
  return success();
}

/// (C3)
static LogicalResult verifySizes(FftOp op) {
  RankedTensorType input = tensorTypeOf(op.getInputs()[0]);
  int64_t dim = op.getDim();
  if (failed(verifyDim(op, "dim", dim, input.getRank())))
    return failure();
  SmallVector<int64_t> shape(input.getShape());
  if (op.getInputs().size() == 1) {
    shape[dim] = shape[dim] / 2 + 1;
  } else if (op.getResults().size() == 1) {
    RankedTensorType result = tensorTypeOf(op.getResults()[0]);
    if (result.getRank() != input.getRank())
      return verifyShape(op, "result 0", op.getResults()[0], shape);
    int64_t length = result.getDimSize(dim);
    if (shape[dim] != length / 2 + 1)
      return op.emitOpError() << "operand 0 dim " << dim << ": expected size "
                              << length / 2 + 1 << " for a line of " << length
                              << " real numbers but got " << shape[dim];
    shape[dim] = length;
  }
  if (failed(verifyShape(op, "result 0", op.getResults()[0], shape)))
    return failure();
  if (op.getLength() < 1)
    return op.emitOpError()
           << "dim " << dim << ": expected at least one element";
  return success();
}

LogicalResult FftOp::verify() {
  if (failed(verifyHalves(*this, "operand", getInputs())) ||
      failed(verifyHalves(*this, "result", getResults())))
    return failure();
  bool isOfReal = getInputs().size() == 1, isToReal = getResults().size() == 1;
  if (isOfReal && isToReal)
    return emitOpError() << "expected a real operand or a real result, not "
                            "both";
  if (failed(verifyElements(*this)) || failed(verifySizes(*this)))
    return failure();
  if ((isOfReal && getInverse()) || (isToReal && !getInverse())) // (C4)
    return emitOpError() << "expected `inverse` where the result is real, and "
                            "not where the operand is";
  return success();
}
