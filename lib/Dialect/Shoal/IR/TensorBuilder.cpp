// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/TensorBuilder.h"
#include "shoal/Dialect/Shoal/IR/Algebra.h"
#include "shoal/Dialect/Shoal/IR/FloatTypes.h"
#include "shoal/Dialect/Shoal/IR/ReductionOps.h"
#include "shoal/Dialect/Shoal/IR/ReshapeOps.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "llvm/Support/MathExtras.h"

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

Value TensorBuilder::zeros(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type)) ? splat(type, 0.0)
                                                    : splat(type, int64_t(0));
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
  return select(mask, x, zeros(x.getType()));
}

Value TensorBuilder::select(Value mask, Value x, Value y) {
  return arith::SelectOp::create(*this, mask, x, y);
}

Value TensorBuilder::compare(arith::CmpIPredicate predicate, Value lhs,
                             Value rhs) {
  return arith::CmpIOp::create(*this, predicate, lhs, rhs);
}

Value TensorBuilder::compare(arith::CmpFPredicate predicate, Value lhs,
                             Value rhs) {
  return arith::CmpFOp::create(*this, predicate, lhs, rhs);
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
  Type element = getElementTypeOrSelf(x);
  if (kind == ReduceKind::Sum)
    x = convert(x, sumElement(element));
  return convert(
      ReduceOp::create(*this, tensorTypeOf(x).clone(shape), kind, x, dims),
      element);
}

Value TensorBuilder::spread(Value reduced, ArrayRef<int64_t> shape,
                            ArrayRef<int64_t> dims) {
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim)
    if (!llvm::is_contained(dims, dim))
      kept.push_back(dim);
  return broadcast(reduced, shape, kept);
}

Value TensorBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  return ReshapeOp::create(*this, tensorTypeOf(x).clone(shape), x);
}

Value TensorBuilder::iota(ArrayRef<int64_t> shape, Type element, int64_t dim) {
  return IotaOp::create(*this, RankedTensorType::get(shape, element), dim);
}

Value TensorBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  RankedTensorType type = tensorTypeOf(x);
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(type.getDimSize(dim));
  return TransposeOp::create(*this, type.clone(shape), x, permutation);
}

Value TensorBuilder::reverse(Value x, ArrayRef<int64_t> dims) {
  return ReverseOp::create(*this, x.getType(), x, dims);
}

Value TensorBuilder::slice(Value x, ArrayRef<int64_t> starts,
                           ArrayRef<int64_t> limits,
                           ArrayRef<int64_t> strides) {
  SmallVector<int64_t> shape;
  for (auto [start, limit, stride] : llvm::zip_equal(starts, limits, strides))
    shape.push_back(llvm::divideCeil(limit - start, stride));
  return SliceOp::create(*this, tensorTypeOf(x).clone(shape), x, starts, limits,
                         strides);
}

Value TensorBuilder::pad(Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                         ArrayRef<int64_t> interior) {
  RankedTensorType type = tensorTypeOf(x);
  SmallVector<int64_t> shape;
  for (auto [d, size] : llvm::enumerate(type.getShape()))
    shape.push_back(low[d] + size + high[d] +
                    interior[d] * std::max<int64_t>(size - 1, 0));
  Value zero = zeros(type.clone(ArrayRef<int64_t>()));
  return PadOp::create(*this, type.clone(shape), x, zero, low, high, interior);
}

Value TensorBuilder::concatenate(ValueRange parts, int64_t dim) {
  RankedTensorType type = tensorTypeOf(parts[0]);
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = 0;
  for (Value part : parts)
    shape[dim] += tensorTypeOf(part).getDimSize(dim);
  return ConcatenateOp::create(*this, type.clone(shape), parts, dim);
}

Value TensorBuilder::sliceDim(Value x, int64_t dim, int64_t begin,
                              int64_t end) {
  SmallVector<int64_t> limits(tensorTypeOf(x).getShape());
  SmallVector<int64_t> starts(limits.size(), 0), strides(limits.size(), 1);
  starts[dim] = begin;
  limits[dim] = end;
  return slice(x, starts, limits, strides);
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

Type TensorBuilder::sumElement(Type element) {
  return isFloat8(element) ? getF32Type() : element;
}

Value TensorBuilder::widen(Value x) {
  return tensorTypeOf(x).getElementTypeBitWidth() < 32
             ? convert(x, getF32Type())
             : x;
}
