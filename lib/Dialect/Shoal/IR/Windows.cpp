// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Verifiers of reduce_window and select_and_scatter.

#include "WindowUtils.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace shoal;

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/WindowsOps.cpp.inc"

LogicalResult shoal::verifyWindowLists(Operation *op,
                                       ArrayRef<WindowList> lists,
                                       int64_t rank) {
  for (const WindowList &list : lists) {
    if (!list.entries)
      continue;
    if (failed(verifyEntryCount(op, list.name, list.entries->size(), rank)))
      return failure();
    for (auto [dim, entry] : llvm::enumerate(*list.entries))
      if (entry < list.smallest || entry > kLargestWindowNumber)
        return op->emitOpError()
               << list.name << "[" << dim << "]: expected " << list.smallest
               << " to " << kLargestWindowNumber << " but got " << entry;
  }
  return success();
}

FailureOr<SmallVector<int64_t>>
shoal::countWindows(Operation *op, ArrayRef<int64_t> shape,
                    ArrayRef<WindowDim> window) {
  SmallVector<int64_t> counts;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    std::optional<int64_t> count = window[dim].countWindows(size);
    if (!count)
      return op->emitOpError()
             << "operand 0 dim " << dim << ": its padded size is beyond 2^56";
    counts.push_back(*count);
  }
  return counts;
}

//===----------------------------------------------------------------------===//
// reduce_window
//===----------------------------------------------------------------------===//

SmallVector<WindowDim> ReduceWindowOp::getWindowDims() {
  SmallVector<WindowDim> dims;
  auto at = [](const std::optional<ArrayRef<int64_t>> &list, size_t dim,
               int64_t otherwise) { return list ? (*list)[dim] : otherwise; };
  for (auto [dim, size] : llvm::enumerate(getWindow()))
    dims.push_back({size, at(getStrides(), dim, 1), at(getLow(), dim, 0),
                    at(getHigh(), dim, 0), at(getBaseDilation(), dim, 1),
                    at(getWindowDilation(), dim, 1), /*reversed=*/false});
  return dims;
}

bool ReduceWindowOp::contractsDim(unsigned dim) {
  int64_t rows = tensorTypeOf(getInput()).getDimSize(dim);
  WindowDim window = getWindowDims()[dim];
  return rows > 1 && getType().getDimSize(dim) == 1 &&
         window.windowDilation == 1 && window.low >= 0 &&
         window.size - 1 - window.low >= (rows - 1) * window.baseDilation;
}

LogicalResult ReduceWindowOp::verify() {
  RankedTensorType type = tensorTypeOf(getInput());
  const WindowList lists[] = {// (C1)
                              {"window", getWindow(), 1},
                              {"strides", getStrides(), 1},
                              {"low", getLow(), -kLargestWindowNumber},
                              {"high", getHigh(), -kLargestWindowNumber},
                              {"base_dilation", getBaseDilation(), 1},
                              {"window_dilation", getWindowDilation(), 1}};
  if (failed(verifyWindowLists(*this, lists, type.getRank())) ||
      failed(verifyShape(*this, "operand 1", getInit(), {})) || // (C2)
      failed(verifyElementType(*this, "operand 1", getInit(),
                               type.getElementType())))
    return failure();
  FailureOr<SmallVector<int64_t>> shape =
      countWindows(*this, type.getShape(), getWindowDims());
  if (failed(shape) ||
      failed(verifyResult(*this, 0, *shape, type.getElementType()))) // (C3)
    return failure();
  return verifyCombiner(*this, getKind(), type.getElementType()); // (C4)
}

//===----------------------------------------------------------------------===//
// select_and_scatter
//===----------------------------------------------------------------------===//

SmallVector<WindowDim> SelectAndScatterOp::getWindowDims() {
  SmallVector<WindowDim> dims;
  for (auto [dim, size] : llvm::enumerate(getWindow())) {
    WindowDim window;
    window.size = size;
    window.stride = getStrides() ? (*getStrides())[dim] : 1;
    window.low = getLow() ? (*getLow())[dim] : 0;
    window.high = getHigh() ? (*getHigh())[dim] : 0;
    dims.push_back(window);
  }
  return dims;
}

/// (C1): places of a window are numbered in 31 bits.
static LogicalResult verifyPlaceCount(SelectAndScatterOp op) {
  int64_t places = 1;
  for (int64_t size : op.getWindow())
    if (llvm::MulOverflow(places, size, places) ||
        places >= kLargestWindowNumber)
      return op.emitOpError() << "window: expected less than "
                              << kLargestWindowNumber << " places";
  return success();
}

LogicalResult SelectAndScatterOp::verify() {
  RankedTensorType type = tensorTypeOf(getInput());
  const WindowList lists[] = {{"window", getWindow(), 1}, // (C1)
                              {"strides", getStrides(), 1},
                              {"low", getLow(), 0},
                              {"high", getHigh(), 0}};
  if (failed(verifyWindowLists(*this, lists, type.getRank())) ||
      failed(verifyPlaceCount(*this)))
    return failure();
  if (getKind() != ReduceKind::Max && getKind() != ReduceKind::Min) // (C2)
    return emitOpError() << "kind: expected max or min but got "
                         << stringifyReduceKind(getKind());
  FailureOr<SmallVector<int64_t>> shape =
      countWindows(*this, type.getShape(), getWindowDims());
  if (failed(shape) ||
      failed(verifyShape(*this, "operand 1", getSource(), *shape)) || // (C3)
      failed(verifyElementType(*this, "operand 1", getSource(),
                               type.getElementType())))
    return failure();
  if (type.getElementType().isInteger(1))
    return emitOpError() << "operand 0: expected numbers but got i1";
  // What windows select is summed.
  if (failed(verifyCombiner(*this, ReduceKind::Sum, type.getElementType())))
    return failure();
  if (failed(verifyShape(*this, "operand 2", getInit(), {})) || // (C4)
      failed(verifyElementType(*this, "operand 2", getInit(),
                               type.getElementType())))
    return failure();
  return verifyResult(*this, 0, type.getShape(), type.getElementType()); // (C5)
}
