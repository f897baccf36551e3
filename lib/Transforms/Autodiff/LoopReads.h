// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the steps of a loop read of the values around it, by their numbers.

#ifndef SHOAL_LIB_TRANSFORMS_AUTODIFF_LOOPREADS_H
#define SHOAL_LIB_TRANSFORMS_AUTODIFF_LOOPREADS_H

#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"

namespace shoal {

class LoopReads {
public:
  /// A carried integer that every step adds a constant to.
  struct Counter {
    unsigned number;
    int64_t step;
  };

  LoopReads(WhileOp loop, int64_t trips);

  llvm::ArrayRef<Counter> getCounters() const { return counters; }
  /// Whether a value of the body follows from counters alone.
  bool followsFromCounters(mlir::Value value);
  /// Whether a value of the body is a slice, at a place that counters say, of
  /// something invariant with fewer elements than all steps' slices: steps
  /// read rows again and again, as a pipeline those of its stages.
  bool isReadRepeatedly(mlir::Value value);
  /// Whether each step reads rows of its own of a value from around the loop,
  /// and nothing else.
  bool isReadByOwnRows(mlir::Value value);
  /// A row that one step alone reads gets its cotangent as it is: what it would
  /// be added to are the zeros that the sum begins with.
  void setOwnRow(mlir::Value gradient, mlir::Value sum);

private:
  mlir::Block &getBody() { return loop.getBody().front(); }
  /// Whether the value stands around the loop.
  bool isInvariant(mlir::Value value);
  /// Whether no two steps read the same elements: in a dimension of which the
  /// slice has one row, they start at different ones.
  bool isOwnRow(DynamicSliceOp slice);

  WhileOp loop;
  int64_t trips;
  llvm::SmallVector<Counter> counters;
};

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_AUTODIFF_LOOPREADS_H
