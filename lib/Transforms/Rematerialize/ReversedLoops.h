// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Loops whose steps a later loop walks backwards.

#ifndef SHOAL_LIB_TRANSFORMS_REMATERIALIZE_REVERSEDLOOPS_H
#define SHOAL_LIB_TRANSFORMS_REMATERIALIZE_REVERSEDLOOPS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Shoal/IR/IndexingOps.h"

namespace shoal::remat {

/// A row for each step of a loop, written into a carried tensor at a counter
/// from 0 on, of which a later loop reads one in each of its steps.
struct Stack {
  /// Of the carried tensor.
  unsigned number;
  /// In the first loop's body: the value that is kept, in front of marks, the
  /// row of it that is written, be it in another shape, and what writes it.
  mlir::Value value, row;
  DynamicUpdateSliceOp write;
  /// In the second loop's body.
  llvm::SmallVector<DynamicSliceOp, 1> reads;
};

/// What `--shoal-differentiate` makes of a loop.
struct ReversedLoop {
  WhileOp forward, backward;
  int64_t trips;
  /// In the body of `backward`: the step of `forward` whose rows it reads.
  mlir::Value step;
  llvm::SmallVector<Stack> stacks;

  mlir::Block &forwardBody() { return forward.getBody().front(); }
  mlir::Block &backwardBody() { return backward.getBody().front(); }
};

/// Outer loops first. A loop whose rows are read at several numbers, or
/// elsewhere too, has only those stacks of which this holds.
llvm::SmallVector<ReversedLoop> findReversedLoops(mlir::func::FuncOp function);

/// The first value of the carried argument of a body that is one more in each
/// step; nothing of others.
std::optional<int64_t> countsFrom(WhileOp loop, mlir::BlockArgument argument);

/// Removes carried values that only the ops which make their next ones read,
/// and these. Returns the loop without them.
WhileOp removeStacks(WhileOp loop, llvm::ArrayRef<Stack> stacks);

/// Lets the steps of the backward loop make the values of these stacks, from
/// the rows of `kept` ones, counters, and what is around both loops; every
/// other value that they are made of in the forward loop is cloned, late.
void dropStacks(ReversedLoop &loop, llvm::ArrayRef<Stack> dropped,
                llvm::ArrayRef<Stack> kept);

} // namespace shoal::remat

#endif // SHOAL_LIB_TRANSFORMS_REMATERIALIZE_REVERSEDLOOPS_H
