// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Activations, softmax, normalisation and one_hot.

#include "shoal/Dialect/Shoal/IR/NNOps.h"
#include "shoal/Dialect/Shoal/IR/TensorBuilder.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace shoal;

/// An optional result type that repeats an operand's.
static ParseResult parseSameType(OpAsmParser &, Type &inputType, Type &type) {
  type = inputType;
  return success();
}
static void printSameType(OpAsmPrinter &, Operation *, Type, Type) {}

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/NNOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxOp::verify() {
  return verifyDim(*this, "axis", getAxis(), getType().getRank()); // (C1)
}

/// The laws of layer_norm and rms_norm, whose vectors follow the input.
template <typename NormOp>
static LogicalResult verifyNorm(NormOp op) {
  RankedTensorType type = tensorTypeOf(op.getInput());
  int64_t axis = op.getAxis();
  if (failed(verifyDim(op, "axis", axis, type.getRank()))) // (C1)
    return failure();
  for (unsigned i = 1; i < op->getNumOperands(); ++i) { // (C2)
    Value operand = op->getOperand(i);
    std::string what = ("operand " + Twine(i)).str();
    if (failed(verifyShape(op, what, operand, {type.getDimSize(axis)})) ||
        failed(verifyElementType(op, what, operand, type.getElementType())))
      return failure();
  }
  double epsilon = op.getEpsilon().convertToDouble();
  if (!(epsilon >= 0.0 && std::isfinite(epsilon))) // (C3)
    return op.emitOpError() << "epsilon: expected a finite number of at least "
                               "0 but got "
                            << op.getEpsilonAttr();
  return verifyResult(op, 0, type.getShape(), type.getElementType()); // (C4)
}

LogicalResult LayerNormOp::verify() { return verifyNorm(*this); }

LogicalResult RMSNormOp::verify() { return verifyNorm(*this); }

LogicalResult OneHotOp::verify() {
  RankedTensorType result = tensorTypeOf(getResult());
  int64_t dim = getDim();
  if (failed(verifyDim(*this, "dim", dim, result.getRank()))) // (C1)
    return failure();
  SmallVector<int64_t> shape(result.getShape());
  shape.erase(shape.begin() + dim);
  return verifyShape(*this, "operand 0", getIndices(), shape);
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

SmallVector<Value> SoftmaxOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, *this);
  int64_t axis = getAxis();
  ArrayRef<int64_t> shape = tensorTypeOf(getInput()).getShape();
  Value x = b.widen(getInput());
  Value max = b.reduce(ReduceKind::Max, x, {axis});
  Value shifted = b.sub(x, b.spread(max, shape, {axis}));
  Value exp = math::ExpOp::create(b, shifted);
  Value sum = b.reduce(ReduceKind::Sum, exp, {axis});
  Value result = b.div(exp, b.spread(sum, shape, {axis}));
  return {b.convert(result, tensorTypeOf(getResult()).getElementType())};
}

static Value meanAlong(TensorBuilder &b, Value x, int64_t axis) {
  double size = static_cast<double>(tensorTypeOf(x).getDimSize(axis));
  return b.scale(b.reduce(ReduceKind::Sum, x, {axis}), 1.0 / size);
}

/// `x` over the root of its mean square, times the op's scale.
template <typename NormOp>
static Value scaleRows(TensorBuilder &b, NormOp op, Value x) {
  int64_t axis = op.getAxis();
  ArrayRef<int64_t> shape = tensorTypeOf(x).getShape();
  Value meanSquare = meanAlong(b, b.mul(x, x), axis);
  Value rsqrt = math::RsqrtOp::create(
      b, b.shift(meanSquare, op.getEpsilon().convertToDouble()));
  Value normal = b.mul(x, b.spread(rsqrt, shape, {axis}));
  return b.mul(normal, b.broadcast(b.widen(op.getScale()), shape, {axis}));
}

SmallVector<Value> LayerNormOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, *this);
  int64_t axis = getAxis();
  Value x = b.widen(getInput());
  ArrayRef<int64_t> shape = tensorTypeOf(x).getShape();
  Value mean = meanAlong(b, x, axis);
  Value centred = b.sub(x, b.spread(mean, shape, {axis}));
  Value scaled = scaleRows(b, *this, centred);
  Value bias = b.broadcast(b.widen(getBias()), shape, {axis});
  Value result = b.add(scaled, bias);
  return {b.convert(result, tensorTypeOf(getResult()).getElementType())};
}

SmallVector<Value> RMSNormOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, *this);
  Value result = scaleRows(b, *this, b.widen(getInput()));
  return {b.convert(result, tensorTypeOf(getResult()).getElementType())};
}

/// The indices in a type that every index along the new dimension fits in.
static Value widenIndices(TensorBuilder &b, Value indices) {
  RankedTensorType type = tensorTypeOf(indices);
  if (type.getElementTypeBitWidth() >= 32)
    return indices;
  if (type.getElementTypeBitWidth() == 1)
    return b.convert(indices, b.getI32Type());
  return arith::ExtSIOp::create(b, type.clone(b.getI32Type()), indices);
}

SmallVector<Value> OneHotOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, *this);
  RankedTensorType type = tensorTypeOf(getResult());
  Value mask =
      b.oneHotMask(widenIndices(b, getIndices()), type.getShape(), getDim());
  return {b.convert(mask, type.getElementType())};
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

// maximumf, so that NaN stays NaN.
SmallVector<Value> ReluOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, *this);
  return {arith::MaximumFOp::create(b, getInput(), b.splat(getType(), 0.0))};
}

// Far below 0 the exponential is infinite, and the quotient 0.
SmallVector<Value> SiluOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, *this);
  Value x = b.widen(getInput());
  Value exp = math::ExpOp::create(b, arith::NegFOp::create(b, x));
  return {b.convert(b.div(x, b.shift(exp, 1.0)), getType().getElementType())};
}

static constexpr double kSqrtHalf = 1.0 / llvm::numbers::sqrt2;
static constexpr double kSqrtTwoOverPi =
    llvm::numbers::sqrt2 * llvm::numbers::inv_sqrtpi;

/// 2 * Phi(x) - 1, in its tanh form.
static Value normalDistributionByTanh(TensorBuilder &b, Value x) {
  Value cube = b.mul(b.mul(x, x), x);
  Value inner = b.add(x, b.scale(cube, 0.044715));
  return math::TanhOp::create(b, b.scale(inner, kSqrtTwoOverPi));
}

SmallVector<Value> GeluOp::decompose(OpBuilder &builder) {
  TensorBuilder b(builder, *this);
  Value x = b.widen(getInput());
  Value phi = getApproximate()
                  ? normalDistributionByTanh(b, x)
                  : math::ErfOp::create(b, b.scale(x, kSqrtHalf)).getResult();
  Value result = b.mul(b.scale(x, 0.5), b.shift(phi, 1.0));
  return {b.convert(result, getType().getElementType())};
}
