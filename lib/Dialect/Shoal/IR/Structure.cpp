// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Verifiers of the ops that move elements without computing with them.

#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shoal;

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/StructureOps.cpp.inc"

LogicalResult BroadcastInDimOp::verify() {
  RankedTensorType input = tensorTypeOf(getInput()), result = getType();
  if (failed(verifyEntryCount(*this, "dims", getDims().size(), // (C1)
                              input.getRank())) ||
      failed(verifyDistinctDims(*this, "dims", getDims(), result.getRank())))
    return failure();
  for (auto [i, dim] : llvm::enumerate(getDims())) { // (C2)
    int64_t size = input.getDimSize(i), larger = result.getDimSize(dim);
    if (size != 1 && size != larger)
      return emitOpError() << "operand 0 dim " << i
                           << ": expected size 1 or that of result dim " << dim
                           << ", " << larger << ", but got " << size;
  }
  return verifyElementType(*this, "result 0", getResult(), // (C3)
                           input.getElementType());
}

LogicalResult TransposeOp::verify() {
  RankedTensorType input = tensorTypeOf(getInput());
  ArrayRef<int64_t> permutation = getPermutation();
  if (failed(verifyEntryCount(*this, "permutation", permutation.size(), // (C1)
                              input.getRank())) ||
      failed(verifyDistinctDims(*this, "permutation", permutation,
                                input.getRank())))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(input.getDimSize(dim));
  return verifyResult(*this, 0, shape, input.getElementType()); // (C2)
}

LogicalResult IotaOp::verify() {
  return verifyDim(*this, "dim", getDim(), getType().getRank()); // (C1)
}

LogicalResult SliceOp::verify() {
  RankedTensorType input = tensorTypeOf(getInput());
  int64_t rank = input.getRank();
  ArrayRef<int64_t> starts = getStarts(), limits = getLimits();
  ArrayRef<int64_t> strides = getStrides();
  if (failed(verifyEntryCount(*this, "starts", starts.size(), rank)) || // (C1)
      failed(verifyEntryCount(*this, "limits", limits.size(), rank)) ||
      failed(verifyEntryCount(*this, "strides", strides.size(), rank)))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t start = starts[dim], limit = limits[dim], stride = strides[dim];
    int64_t size = input.getDimSize(dim);
    if (start < 0 || start > limit || limit > size)
      return emitOpError() << "operand 0 dim " << dim << ": rows " << start
                           << " to " << limit
                           << " are not a range within its size " << size;
    if (stride < 1)
      return emitOpError() << "strides[" << dim
                           << "]: expected at least 1 but got " << stride;
    shape.push_back(llvm::divideCeilSigned(limit - start, stride));
  }
  return verifyResult(*this, 0, shape, input.getElementType()); // (C2)
}

/// low + size + high + interior * max(size - 1, 0); nothing where that is
/// beyond 64 bits.
static std::optional<int64_t> paddedSize(int64_t size, int64_t low,
                                         int64_t high, int64_t interior) {
  int64_t result;
  if (llvm::MulOverflow(interior, std::max<int64_t>(size - 1, 0), result) ||
      llvm::AddOverflow(result, size, result) ||
      llvm::AddOverflow(result, low, result) ||
      llvm::AddOverflow(result, high, result))
    return std::nullopt;
  return result;
}

LogicalResult PadOp::verify() {
  RankedTensorType input = tensorTypeOf(getInput());
  std::pair<StringRef, ArrayRef<int64_t>> lists[] = {
      {"low", getLow()}, {"high", getHigh()}, {"interior", getInterior()}};
  for (auto [name, list] : lists) { // (C1)
    if (failed(verifyEntryCount(*this, name, list.size(), input.getRank())))
      return failure();
    for (auto [dim, count] : llvm::enumerate(list))
      if (count < 0 && name == "interior")
        return emitOpError() << name << "[" << dim
                             << "]: expected at least 0 but got " << count;
  }
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(input.getShape())) {
    std::optional<int64_t> padded =
        paddedSize(size, getLow()[dim], getHigh()[dim], getInterior()[dim]);
    if (!padded)
      return emitOpError() << "result 0 dim " << dim
                           << ": the padded size is beyond 64 bits";
    if (*padded < 0)
      return emitOpError() << "result 0 dim " << dim << ": padding takes away "
                           << -*padded << " rows more than there are";
    shape.push_back(*padded);
  }
  if (failed(verifyResult(*this, 0, shape, input.getElementType())) || // (C2)
      failed(verifyShape(*this, "operand 1", getValue(), {})))         // (C3)
    return failure();
  return verifyElementType(*this, "operand 1", getValue(),
                           input.getElementType());
}

PadOp::Kept PadOp::getKept(int64_t dim) {
  int64_t low = getLow()[dim], step = getInterior()[dim] + 1;
  int64_t size = tensorTypeOf(getInput()).getDimSize(dim);
  int64_t padded = tensorTypeOf(getResult()).getDimSize(dim);
  auto rowsBefore = [&](int64_t place) { // Rows that stand before `place`.
    return std::clamp<int64_t>(llvm::divideCeilSigned(place - low, step), 0,
                               size);
  };
  int64_t begin = rowsBefore(0);
  return {begin, std::max(begin, rowsBefore(padded)), low + begin * step};
}

LogicalResult ReverseOp::verify() {
  int64_t rank = tensorTypeOf(getInput()).getRank();
  if (failed(verifyDistinctDims(*this, "dims", getDims(), rank))) // (C1)
    return failure();
  if (!llvm::is_sorted(getDims()))
    return emitOpError() << "dims: expected ascending order but got ["
                         << getDims() << "]";
  return success();
}

LogicalResult RollOp::verify() {
  if (failed(verifyDim(*this, "dim", getDim(), getType().getRank()))) // (C1)
    return failure();
  int64_t size = getType().getDimSize(getDim());
  int64_t shift = static_cast<int64_t>(getShift());
  if (shift < 0 || (shift > 0 && shift >= size)) // (C2)
    return emitOpError() << "shift: expected 0 to "
                         << std::max<int64_t>(size - 1, 0) << " for " << size
                         << " rows of dim " << getDim() << " but got " << shift;
  return success();
}

LogicalResult ConcatenateOp::verify() {
  if (getInputs().empty()) // (C1)
    return emitOpError() << "expected at least one operand";
  RankedTensorType first = tensorTypeOf(getInputs().front());
  int64_t dim = getDim();
  if (failed(verifyDim(*this, "dim", dim, first.getRank())))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  int64_t sum = 0;
  for (auto [i, input] : llvm::enumerate(getInputs())) { // (C2)
    if (tensorTypeOf(input).getRank() == first.getRank())
      shape[dim] = tensorTypeOf(input).getDimSize(dim);
    std::string what = ("operand " + Twine(i)).str();
    if (failed(verifyShape(*this, what, input, shape)) ||
        failed(verifyElementType(*this, what, input, first.getElementType())))
      return failure();
    if (llvm::AddOverflow(sum, shape[dim], sum))
      return emitOpError() << "result 0 dim " << dim
                           << ": the size is beyond 64 bits";
  }
  shape[dim] = sum;
  return verifyResult(*this, 0, shape, first.getElementType());
}
