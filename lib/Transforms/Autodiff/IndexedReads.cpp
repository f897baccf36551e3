// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "IndexedReads.h"

using namespace mlir;
using namespace shoal;

/// A constant of `type` whose elements along `vectorDim` are `numbers`; all of
/// them the only one where each element is an index.
static Value alongVector(TensorBuilder &b, RankedTensorType type,
                         int64_t vectorDim, ArrayRef<int64_t> numbers) {
  if (vectorDim == type.getRank())
    return b.splat(type, numbers[0]);
  SmallVector<APInt> elements;
  for (int64_t number : numbers)
    elements.emplace_back(type.getElementTypeBitWidth(), number,
                          /*isSigned=*/true);
  auto line = RankedTensorType::get({static_cast<int64_t>(numbers.size())},
                                    type.getElementType());
  Value constant =
      arith::ConstantOp::create(b, DenseElementsAttr::get(line, elements));
  return b.broadcast(constant, type.getShape(), vectorDim);
}

Value shoal::clampIndices(TensorBuilder &b, Value indices, int64_t vectorDim,
                          ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
  RankedTensorType type = tensorTypeOf(indices);
  if (type.getElementTypeBitWidth() < 32) {
    type = type.clone(b.getI32Type());
    indices = arith::ExtSIOp::create(b, type, indices);
  }
  if (low.empty())
    return indices;
  Value least = alongVector(b, type, vectorDim, low);
  Value most = alongVector(b, type, vectorDim, high);
  Value raised = arith::MaxSIOp::create(b, indices, least);
  return arith::MinSIOp::create(b, raised, most);
}

Value shoal::readWindows(TensorBuilder &b, ScatterOp scatter, Value x) {
  IndexedWindows windows = IndexedWindows::of(scatter);
  int64_t rank = windows.operandShape.size();
  // A window of zeros on either side, so that what lies outside reads them.
  SmallVector<int64_t> before(rank, 0), behind(rank, 0), interior(rank, 0);
  SmallVector<int64_t> low, high, shift;
  for (int64_t dim : windows.startIndexMap) {
    int64_t size = windows.windowSizes[dim];
    before[dim] = behind[dim] = size;
    low.push_back(-size);
    high.push_back(windows.operandShape[dim]);
    shift.push_back(size);
  }
  for (int64_t dim = 0; dim < rank; ++dim)
    if (windows.componentOf(dim) < 0)
      behind[dim] = std::max<int64_t>(
          windows.windowSizes[dim] - windows.operandShape[dim], 0);
  Value padded = b.pad(x, before, behind, interior);
  Value indices =
      clampIndices(b, scatter.getIndices(), windows.indexVectorDim, low, high);
  if (!shift.empty())
    indices = b.add(indices, alongVector(b, tensorTypeOf(indices),
                                         windows.indexVectorDim, shift));
  auto type =
      tensorTypeOf(x).clone(tensorTypeOf(scatter.getUpdates()).getShape());
  return GatherOp::create(
      b, type, padded, indices, scatter.getUpdateWindowDims(),
      scatter.getInsertedWindowDims(), scatter.getInputBatchingDims(),
      scatter.getScatterIndicesBatchingDims(),
      scatter.getScatterDimsToOperandDims(), scatter.getIndexVectorDim(),
      windows.windowSizes);
}
