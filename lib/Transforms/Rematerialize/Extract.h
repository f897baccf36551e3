// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A per-device function as the numbers that rematerialisation decides on.

#ifndef SHOAL_LIB_TRANSFORMS_REMATERIALIZE_EXTRACT_H
#define SHOAL_LIB_TRANSFORMS_REMATERIALIZE_EXTRACT_H

#include "Graph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "shoal/Dialect/Shoal/IR/RematerializePolicy.h"
#include "shoal/Machine/Machine.h"

namespace shoal::remat {

/// The ops of a function's block, the last one its terminator, as a graph.
struct ExtractedStep {
  Graph graph;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<mlir::Value> values;
  /// Of arguments, which are there all the time.
  int64_t argumentBytes = 0;
};

/// Extracts the first block of a function. An op is of the backward pass where
/// its location says that it was made for a gradient, or if it depends on such
/// a one. Where no op is, the ops behind the place where most is held count as
/// the backward pass: what is held there is read by them.
///
/// policy: what is saved of ops that no `shoal.remat_boundary` is around.
ExtractedStep extractStep(mlir::func::FuncOp function,
                          const RematerializePolicy &policy,
                          const Machine &machine);

/// What the graph has of an op but for operands and results. Its cost is its
/// own operations and, by `machine`, those that it could do while what it reads
/// and writes is moved; of loops and branches that of all that runs in them.
GraphOp toGraphOp(mlir::Operation *op, const Machine &machine);

} // namespace shoal::remat

#endif // SHOAL_LIB_TRANSFORMS_REMATERIALIZE_EXTRACT_H
