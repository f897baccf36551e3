// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Verifiers and folders of gather and scatter.

#include "shoal/Dialect/Shoal/IR/IndexingOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

using namespace mlir;
using namespace shoal;

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/IndexingOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Laws that the two share, on what both have in common
//===----------------------------------------------------------------------===//

namespace {

/// What the ops call the lists of IndexedWindows.
struct Names {
  StringRef offset, collapsed, operandBatching, indicesBatching, indexMap;
  StringRef windows;
};

constexpr Names kGatherNames{
    "offset_dims",           "collapsed_slice_dims",
    "operand_batching_dims", "start_indices_batching_dims",
    "start_index_map",       "result 0"};
constexpr Names kScatterNames{
    "update_window_dims",           "inserted_window_dims",
    "input_batching_dims",          "scatter_indices_batching_dims",
    "scatter_dims_to_operand_dims", "operand 2"};

class Laws {
public:
  Laws(Operation *op, const IndexedWindows &w, const Names &names)
      : op(op), w(w), names(names), operandRank(w.operandShape.size()),
        indicesRank(w.indicesShape.size()) {}

  LogicalResult verifyOperandDims() const {
    if (failed(
            verifyAscending(names.collapsed, w.collapsedDims, operandRank)) ||
        failed(verifyAscending(names.operandBatching, w.operandBatchingDims,
                               operandRank)))
      return failure();
    for (int64_t dim : w.collapsedDims)
      if (llvm::is_contained(w.operandBatchingDims, dim))
        return op->emitOpError()
               << "dimension " << dim << " stands both in " << names.collapsed
               << " and in " << names.operandBatching;
    return success();
  }

  LogicalResult verifyOffsetDims() const {
    if (failed(
            verifyAscending(names.offset, w.offsetDims, w.windowsShape.size())))
      return failure();
    size_t kept =
        operandRank - w.collapsedDims.size() - w.operandBatchingDims.size();
    if (w.offsetDims.size() != kept)
      return op->emitOpError()
             << names.offset << ": expected an entry for each of " << kept
             << " operand dimensions that are in neither " << names.collapsed
             << " nor " << names.operandBatching << ", but got "
             << w.offsetDims.size();
    return success();
  }

  LogicalResult verifyIndexVectorDim() const {
    if (w.indexVectorDim >= 0 && w.indexVectorDim <= indicesRank)
      return success();
    return op->emitOpError()
           << "index_vector_dim: expected 0 to " << indicesRank
           << ", the rank of the indices, but got " << w.indexVectorDim;
  }

  LogicalResult verifyIndexMap() const {
    int64_t components =
        w.indexVectorDim == indicesRank ? 1 : w.indicesShape[w.indexVectorDim];
    if (static_cast<int64_t>(w.startIndexMap.size()) != components)
      return op->emitOpError()
             << names.indexMap << ": expected an entry for each of "
             << components << " elements of an index but got "
             << w.startIndexMap.size();
    if (failed(verifyDistinctDims(op, names.indexMap, w.startIndexMap,
                                  operandRank)))
      return failure();
    for (int64_t dim : w.startIndexMap)
      if (llvm::is_contained(w.operandBatchingDims, dim))
        return op->emitOpError()
               << "dimension " << dim << " stands both in " << names.indexMap
               << " and in " << names.operandBatching;
    return success();
  }

  LogicalResult verifyBatching() const {
    if (w.indicesBatchingDims.size() != w.operandBatchingDims.size())
      return op->emitOpError()
             << names.indicesBatching << ": expected an entry for each of "
             << w.operandBatchingDims.size() << " dimensions of "
             << names.operandBatching << " but got "
             << w.indicesBatchingDims.size();
    if (failed(verifyDistinctDims(op, names.indicesBatching,
                                  w.indicesBatchingDims, indicesRank)))
      return failure();
    for (auto [of, at] :
         llvm::zip_equal(w.operandBatchingDims, w.indicesBatchingDims)) {
      if (at == w.indexVectorDim)
        return op->emitOpError() << names.indicesBatching << ": dimension "
                                 << at << " is index_vector_dim";
      if (w.operandShape[of] != w.indicesShape[at])
        return op->emitOpError()
               << "operand 1 dim " << at << ": expected size "
               << w.operandShape[of] << ", that of operand 0 dim " << of
               << ", but got " << w.indicesShape[at];
    }
    return success();
  }

  /// The sizes of the windows tensor, given those along offsetDims.
  LogicalResult verifyWindows(Value windows, Type element,
                              ArrayRef<int64_t> alongOffsets) const {
    size_t rank = w.offsetDims.size() + w.indicesBatchDims().size();
    if (w.windowsShape.size() != rank)
      return op->emitOpError() << names.windows << ": expected rank " << rank
                               << " but got " << w.windowsShape.size();
    SmallVector<int64_t> shape(rank);
    for (auto [dim, size] : llvm::zip_equal(w.offsetDims, alongOffsets))
      shape[dim] = size;
    for (auto [dim, from] :
         llvm::zip_equal(w.windowsBatchDims(), w.indicesBatchDims()))
      shape[dim] = w.indicesShape[from];
    if (failed(verifyShape(op, names.windows, windows, shape)))
      return failure();
    return verifyElementType(op, names.windows, windows, element);
  }

private:
  LogicalResult verifyAscending(StringRef name, ArrayRef<int64_t> dims,
                                int64_t rank) const {
    if (failed(verifyDistinctDims(op, name, dims, rank)))
      return failure();
    if (llvm::is_sorted(dims))
      return success();
    return op->emitOpError()
           << name << ": expected ascending order but got [" << dims << "]";
  }

  Operation *op;
  const IndexedWindows &w;
  const Names &names;
  int64_t operandRank, indicesRank;
};

} // namespace

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// (C2) of gather.
static LogicalResult verifySliceSizes(GatherOp op, const IndexedWindows &w) {
  ArrayRef<int64_t> sizes = op.getSliceSizes();
  if (failed(verifyEntryCount(op, "slice_sizes", sizes.size(),
                              w.operandShape.size())))
    return failure();
  for (auto [d, size] : llvm::enumerate(sizes)) {
    int64_t dim = d;
    if (size < 0 || size > w.operandShape[dim])
      return op.emitOpError()
             << "slice_sizes[" << dim << "]: expected 0 to "
             << w.operandShape[dim] << ", the operand's size, but got " << size;
    // A batching dimension without rows, unlike a collapsed one, leaves the
    // result without elements, too.
    bool isOne = llvm::is_contained(w.collapsedDims, dim) ||
                 (llvm::is_contained(w.operandBatchingDims, dim) &&
                  w.operandShape[dim] != 0);
    if (isOne && size != 1)
      return op.emitOpError()
             << "slice_sizes[" << dim << "]: expected 1, the dimension being "
             << "collapsed or a batching one, but got " << size;
  }
  return success();
}

LogicalResult GatherOp::verify() {
  IndexedWindows w = IndexedWindows::of(*this);
  Laws laws(*this, w, kGatherNames);
  if (failed(laws.verifyOperandDims()) ||    // (C1)
      failed(verifySliceSizes(*this, w)) ||  // (C2)
      failed(laws.verifyOffsetDims()) ||     // (C3)
      failed(laws.verifyIndexVectorDim()) || // (C4)
      failed(laws.verifyIndexMap()) ||       // (C5)
      failed(laws.verifyBatching()))         // (C6)
    return failure();
  SmallVector<int64_t> alongOffsets;
  for (auto [dim, offsetDim] : llvm::enumerate(w.offsetDimOfOperandDim()))
    if (offsetDim >= 0)
      alongOffsets.push_back(getSliceSizes()[dim]);
  return laws.verifyWindows(getResult(), // (C7)
                            tensorTypeOf(getInput()).getElementType(),
                            alongOffsets);
}

LogicalResult ScatterOp::verify() {
  IndexedWindows w = IndexedWindows::of(*this);
  Laws laws(*this, w, kScatterNames);
  if (failed(laws.verifyOperandDims()) ||    // (C1)
      failed(laws.verifyOffsetDims()) ||     // (C2)
      failed(laws.verifyIndexVectorDim()) || // (C3)
      failed(laws.verifyIndexMap()) ||       // (C4)
      failed(laws.verifyBatching()))         // (C5)
    return failure();
  SmallVector<int64_t> alongOffsets;
  for (int64_t dim : w.offsetDims)
    alongOffsets.push_back(w.windowsShape[dim]);
  RankedTensorType type = tensorTypeOf(getInput());
  if (failed(laws.verifyWindows(getUpdates(), type.getElementType(), // (C6)
                                alongOffsets)) ||
      failed(verifyResult(*this, 0, type.getShape(), // (C7)
                          type.getElementType())))
    return failure();
  if (!getKind())
    return success();
  return verifyCombiner(*this, *getKind(), type.getElementType()); // (C8)
}

// Elements that are all alike are so wherever they come from.
OpFoldResult GatherOp::fold(FoldAdaptor adaptor) {
  auto splat = dyn_cast_if_present<SplatElementsAttr>(adaptor.getInput());
  return splat ? splat.resizeSplat(tensorTypeOf(getResult())) : OpFoldResult();
}

OpFoldResult ScatterOp::fold(FoldAdaptor) {
  return tensorTypeOf(getUpdates()).getNumElements() == 0 ? getInput()
                                                          : OpFoldResult();
}
