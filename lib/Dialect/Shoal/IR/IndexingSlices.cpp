// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Verifiers and folders of dynamic_slice and dynamic_update_slice.

#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

using namespace mlir;
using namespace shoal;

/// (C1) of both: a scalar per dimension, of one type. `first` is the number of
/// the first one among the operands.
static LogicalResult verifyStarts(Operation *op, OperandRange starts,
                                  unsigned first, int64_t rank) {
  if (failed(verifyEntryCount(op, "starts", starts.size(), rank)))
    return failure();
  for (auto [i, start] : llvm::enumerate(starts)) {
    std::string what = ("operand " + Twine(first + i)).str();
    if (failed(verifyShape(op, what, start, {})) ||
        failed(verifyElementType(
            op, what, start, tensorTypeOf(starts.front()).getElementType())))
      return failure();
  }
  return success();
}

LogicalResult DynamicSliceOp::verify() {
  RankedTensorType type = tensorTypeOf(getInput());
  if (failed(verifyStarts(*this, getStarts(), 1, type.getRank())) || // (C1)
      failed(verifyEntryCount(*this, "sizes", getSizes().size(),     // (C2)
                              type.getRank())))
    return failure();
  for (auto [dim, size] : llvm::enumerate(getSizes()))
    if (size < 0 || size > type.getDimSize(dim))
      return emitOpError() << "sizes[" << dim << "]: expected 0 to "
                           << type.getDimSize(dim)
                           << ", the operand's size, but got " << size;
  return verifyResult(*this, 0, getSizes(), type.getElementType()); // (C3)
}

LogicalResult DynamicUpdateSliceOp::verify() {
  RankedTensorType type = tensorTypeOf(getInput());
  RankedTensorType update = tensorTypeOf(getUpdate());
  if (failed(verifyStarts(*this, getStarts(), 2, type.getRank()))) // (C1)
    return failure();
  if (update.getRank() != type.getRank()) // (C2)
    return emitOpError() << "operand 1: expected rank " << type.getRank()
                         << " but got " << update.getRank();
  for (auto [dim, size] : llvm::enumerate(update.getShape()))
    if (size > type.getDimSize(dim))
      return emitOpError() << "operand 1 dim " << dim
                           << ": expected a size of at most "
                           << type.getDimSize(dim) << ", that of operand 0,"
                           << " but got " << size;
  if (failed(verifyElementType(*this, "operand 1", getUpdate(),
                               type.getElementType())))
    return failure();
  return verifyResult(*this, 0, type.getShape(), // (C3)
                      type.getElementType());
}

OpFoldResult DynamicSliceOp::fold(FoldAdaptor adaptor) {
  RankedTensorType type = tensorTypeOf(getResult());
  if (type == getInput().getType()) // Starts are clamped to 0.
    return getInput();
  auto splat = dyn_cast_if_present<SplatElementsAttr>(adaptor.getInput());
  return splat ? splat.resizeSplat(type) : OpFoldResult();
}

OpFoldResult DynamicUpdateSliceOp::fold(FoldAdaptor) {
  if (getUpdate().getType() == getType())
    return getUpdate();
  return tensorTypeOf(getUpdate()).getNumElements() == 0 ? getInput()
                                                         : OpFoldResult();
}
