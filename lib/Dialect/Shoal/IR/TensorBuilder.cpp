// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TensorBuilder.h"
#include "shoal/Dialect/Shoal/IR/Algebra.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"

using namespace mlir;
using namespace shoal;

Value TensorBuilder::splat(Type type, double value) {
  auto tensor = cast<RankedTensorType>(type);
  Attribute element = getFloatAttr(tensor.getElementType(), value);
  return arith::ConstantOp::create(*this,
                                   DenseElementsAttr::get(tensor, element));
}

Value TensorBuilder::splat(Type type, int64_t value) {
  auto tensor = cast<RankedTensorType>(type);
  unsigned width = tensor.getElementTypeBitWidth();
  Attribute element = IntegerAttr::get(
      tensor.getElementType(), APInt(64, value, true).sextOrTrunc(width));
  return arith::ConstantOp::create(*this,
                                   DenseElementsAttr::get(tensor, element));
}

static bool isFloat(Value x) {
  return isa<FloatType>(getElementTypeOrSelf(x.getType()));
}

Value TensorBuilder::add(Value lhs, Value rhs) {
  return createCombiner(*this, getLoc(), ReduceKind::Sum, lhs, rhs);
}

Value TensorBuilder::sub(Value lhs, Value rhs) {
  return arith::SubFOp::create(*this, lhs, rhs);
}

Value TensorBuilder::mul(Value lhs, Value rhs) {
  return createCombiner(*this, getLoc(), ReduceKind::Prod, lhs, rhs);
}

Value TensorBuilder::div(Value lhs, Value rhs) {
  return arith::DivFOp::create(*this, lhs, rhs);
}

Value TensorBuilder::scale(Value x, double factor) {
  return mul(x, splat(x.getType(), factor));
}

Value TensorBuilder::shift(Value x, double addend) {
  return add(x, splat(x.getType(), addend));
}

Value TensorBuilder::keepWhere(Value mask, Value x) {
  Value zero =
      isFloat(x) ? splat(x.getType(), 0.0) : splat(x.getType(), int64_t(0));
  return arith::SelectOp::create(*this, mask, x, zero);
}

Value TensorBuilder::broadcast(Value x, ArrayRef<int64_t> shape,
                               ArrayRef<int64_t> dims) {
  Type type = tensorTypeOf(x).clone(shape);
  return BroadcastInDimOp::create(*this, type, x, dims);
}

Value TensorBuilder::reduce(ReduceKind kind, Value x, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(tensorTypeOf(x).getShape()))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      shape.push_back(size);
  return ReduceOp::create(*this, tensorTypeOf(x).clone(shape), kind, x, dims);
}

Value TensorBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  return ReshapeOp::create(*this, tensorTypeOf(x).clone(shape), x);
}

Value TensorBuilder::iota(ArrayRef<int64_t> shape, Type element, int64_t dim) {
  return IotaOp::create(*this, RankedTensorType::get(shape, element), dim);
}

Value TensorBuilder::sliceDim(Value x, int64_t dim, int64_t begin,
                              int64_t end) {
  ArrayRef<int64_t> shape = tensorTypeOf(x).getShape();
  SmallVector<int64_t> starts(shape.size(), 0), strides(shape.size(), 1);
  SmallVector<int64_t> limits(shape), sizes(shape);
  starts[dim] = begin;
  limits[dim] = end;
  sizes[dim] = end - begin;
  return SliceOp::create(*this, tensorTypeOf(x).clone(sizes), x, starts, limits,
                         strides);
}

Value TensorBuilder::oneHotMask(Value indices, ArrayRef<int64_t> shape,
                                int64_t dim) {
  SmallVector<int64_t> dims;
  for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
    if (d != dim)
      dims.push_back(d);
  Type element = tensorTypeOf(indices).getElementType();
  return arith::CmpIOp::create(*this, arith::CmpIPredicate::eq,
                               broadcast(indices, shape, dims),
                               iota(shape, element, dim));
}

Value TensorBuilder::convert(Value x, Type element) {
  RankedTensorType from = tensorTypeOf(x), to = from.clone(element);
  unsigned fromWidth = from.getElementTypeBitWidth();
  unsigned toWidth = to.getElementTypeBitWidth();
  if (from == to)
    return x;
  if (!isFloat(x) && isa<FloatType>(element))
    return arith::UIToFPOp::create(*this, to, x);
  if (!isFloat(x) && toWidth > fromWidth)
    return arith::ExtUIOp::create(*this, to, x);
  if (!isFloat(x))
    return arith::TruncIOp::create(*this, to, x);
  if (toWidth > fromWidth)
    return arith::ExtFOp::create(*this, to, x);
  return arith::TruncFOp::create(*this, to, x);
}

Value TensorBuilder::widen(Value x) {
  return tensorTypeOf(x).getElementTypeBitWidth() < 32
             ? convert(x, getF32Type())
             : x;
}
