// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that read or write at places known only at run time, and what gathers
// and scatters have in common.

#ifndef SHOAL_DIALECT_SHOAL_IR_INDEXINGOPS_H
#define SHOAL_DIALECT_SHOAL_IR_INDEXINGOPS_H

#include "shoal/Dialect/Shoal/IR/Shoal.h"

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/IndexingOps.h.inc"

namespace shoal {

/// How three tensors relate: one that is indexed (the operand), indices, and
/// windows (the result of a gather, the updates of a scatter). Names are those
/// of a gather; a scatter's inserted dimensions are the collapsed ones here.
/// Lists are as the ops' constraints say.
struct IndexedWindows {
  llvm::SmallVector<int64_t> operandShape, indicesShape, windowsShape;
  llvm::SmallVector<int64_t> offsetDims, collapsedDims;
  llvm::SmallVector<int64_t> operandBatchingDims, indicesBatchingDims;
  llvm::SmallVector<int64_t> startIndexMap;
  int64_t indexVectorDim = 0;
  /// Per operand dimension; 1 where it is collapsed or batching.
  llvm::SmallVector<int64_t> windowSizes;

  static IndexedWindows of(GatherOp op);
  static IndexedWindows of(ScatterOp op);

  /// Dimensions of `indices` but the index vector, in order.
  llvm::SmallVector<int64_t> indicesBatchDims() const;
  /// Dimensions of the windows tensor but offsetDims, in order: entry i goes
  /// with entry i of indicesBatchDims().
  llvm::SmallVector<int64_t> windowsBatchDims() const;
  /// The dimension of the windows tensor along which operand dimension `dim`
  /// lies, for each dim; -1 for a collapsed or batching one.
  llvm::SmallVector<int64_t> offsetDimOfOperandDim() const;
  /// The element of an index that speaks of operand dimension `dim`; -1 where
  /// windows begin at 0.
  int64_t componentOf(int64_t dim) const;
  /// The dimension of `indices` that goes with the operand batching dimension
  /// `dim`, and the inverse; -1 where it is not a batching one.
  int64_t indicesDimOfBatching(int64_t dim) const;
  int64_t operandDimOfBatching(int64_t indicesDim) const;
  /// Whether every window of a scatter begins at row 0 of operand dimension
  /// `dim` and has all its rows. (Windows of a gather that have all rows begin
  /// at 0 whatever the index.)
  bool coversWhole(int64_t dim) const;
};

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_INDEXINGOPS_H
