// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Verifiers of reduce, cumulative and top_k.

#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

using namespace mlir;
using namespace shoal;

LogicalResult ReduceOp::verify() {
  RankedTensorType type = tensorTypeOf(getInput());
  ArrayRef<int64_t> dims = getDims();
  if (failed(verifyDistinctDims(*this, "dims", dims, type.getRank()))) // (C1)
    return failure();
  if (!llvm::is_sorted(dims))
    return emitOpError() << "dims: expected ascending order but got [" << dims
                         << "]";
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      shape.push_back(size);
  if (failed(verifyResult(*this, 0, shape, type.getElementType()))) // (C2)
    return failure();
  return verifyCombiner(*this, getKind(), type.getElementType()); // (C3)
}

LogicalResult CumulativeOp::verify() {
  RankedTensorType type = tensorTypeOf(getInput());
  if (failed(verifyDim(*this, "dim", getDim(), type.getRank()))) // (C1)
    return failure();
  return verifyCombiner(*this, getKind(), type.getElementType()); // (C2)
}

LogicalResult TopKOp::verify() {
  RankedTensorType type = tensorTypeOf(getInput());
  if (type.getRank() == 0) // (C1)
    return emitOpError() << "operand 0: expected at least one dimension";
  int64_t k = getK(), last = type.getShape().back();
  if (k < 1 || k > last)
    return emitOpError() << "k: expected 1 to " << last
                         << ", the last dimension's size, but got " << k;
  if (type.getElementType().isInteger(1)) // (C3)
    return emitOpError() << "operand 0: expected numbers but got i1";
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = k;
  if (failed(verifyResult(*this, 0, shape, type.getElementType()))) // (C2)
    return failure();
  return verifyResult(*this, 1, shape, IntegerType::get(getContext(), 32));
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  return getDims().empty() ? getInput() : OpFoldResult();
}
