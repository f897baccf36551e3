// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

using namespace mlir;
using namespace shoal;

static SmallVector<int64_t> shapeOf(Value value) {
  return SmallVector<int64_t>(tensorTypeOf(value).getShape());
}

template <typename Range>
static SmallVector<int64_t> listOf(const Range &range) {
  return SmallVector<int64_t>(range.begin(), range.end());
}

IndexedWindows IndexedWindows::of(GatherOp op) {
  IndexedWindows w;
  w.operandShape = shapeOf(op.getInput());
  w.indicesShape = shapeOf(op.getIndices());
  w.windowsShape = shapeOf(op.getResult());
  w.offsetDims = listOf(op.getOffsetDims());
  w.collapsedDims = listOf(op.getCollapsedSliceDims());
  w.operandBatchingDims = listOf(op.getOperandBatchingDims());
  w.indicesBatchingDims = listOf(op.getStartIndicesBatchingDims());
  w.startIndexMap = listOf(op.getStartIndexMap());
  w.indexVectorDim = op.getIndexVectorDim();
  w.windowSizes = listOf(op.getSliceSizes());
  return w;
}

IndexedWindows IndexedWindows::of(ScatterOp op) {
  IndexedWindows w;
  w.operandShape = shapeOf(op.getInput());
  w.indicesShape = shapeOf(op.getIndices());
  w.windowsShape = shapeOf(op.getUpdates());
  w.offsetDims = listOf(op.getUpdateWindowDims());
  w.collapsedDims = listOf(op.getInsertedWindowDims());
  w.operandBatchingDims = listOf(op.getInputBatchingDims());
  w.indicesBatchingDims = listOf(op.getScatterIndicesBatchingDims());
  w.startIndexMap = listOf(op.getScatterDimsToOperandDims());
  w.indexVectorDim = op.getIndexVectorDim();
  // A verifier asks before it knows that the lists fit.
  for (int64_t offsetDim : w.offsetDimOfOperandDim()) {
    bool isWindow = offsetDim >= 0 &&
                    offsetDim < static_cast<int64_t>(w.windowsShape.size());
    w.windowSizes.push_back(isWindow ? w.windowsShape[offsetDim] : 1);
  }
  return w;
}

SmallVector<int64_t> IndexedWindows::indicesBatchDims() const {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < static_cast<int64_t>(indicesShape.size()); ++dim)
    if (dim != indexVectorDim)
      dims.push_back(dim);
  return dims;
}

SmallVector<int64_t> IndexedWindows::windowsBatchDims() const {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < static_cast<int64_t>(windowsShape.size()); ++dim)
    if (!llvm::is_contained(offsetDims, dim))
      dims.push_back(dim);
  return dims;
}

SmallVector<int64_t> IndexedWindows::offsetDimOfOperandDim() const {
  SmallVector<int64_t> result;
  size_t next = 0;
  for (int64_t dim = 0; dim < static_cast<int64_t>(operandShape.size());
       ++dim) {
    bool isKept = !llvm::is_contained(collapsedDims, dim) &&
                  !llvm::is_contained(operandBatchingDims, dim);
    result.push_back(isKept && next < offsetDims.size() ? offsetDims[next++]
                                                        : -1);
  }
  return result;
}

int64_t IndexedWindows::componentOf(int64_t dim) const {
  const int64_t *place = llvm::find(startIndexMap, dim);
  return place == startIndexMap.end() ? -1 : place - startIndexMap.begin();
}

int64_t IndexedWindows::indicesDimOfBatching(int64_t dim) const {
  const int64_t *place = llvm::find(operandBatchingDims, dim);
  return place == operandBatchingDims.end()
             ? -1
             : indicesBatchingDims[place - operandBatchingDims.begin()];
}

int64_t IndexedWindows::operandDimOfBatching(int64_t indicesDim) const {
  const int64_t *place = llvm::find(indicesBatchingDims, indicesDim);
  return place == indicesBatchingDims.end()
             ? -1
             : operandBatchingDims[place - indicesBatchingDims.begin()];
}

bool IndexedWindows::coversWhole(int64_t dim) const {
  return offsetDimOfOperandDim()[dim] >= 0 && componentOf(dim) < 0 &&
         windowSizes[dim] == operandShape[dim];
}
