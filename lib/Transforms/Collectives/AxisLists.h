// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lists of axes per dimension, and when blocks within blocks are blocks.

#ifndef SHOAL_LIB_TRANSFORMS_COLLECTIVES_AXISLISTS_H
#define SHOAL_LIB_TRANSFORMS_COLLECTIVES_AXISLISTS_H

#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"

namespace shoal {

using AxisRefs = llvm::SmallVector<AxisRefAttr, 2>;
/// The axes of each dimension.
using AxesPerDim = llvm::SmallVector<AxisRefs, 4>;

AxesPerDim toLists(mlir::ArrayAttr axes);
mlir::ArrayAttr toAttr(const AxesPerDim &lists, mlir::MLIRContext *context);

/// Whether no dimension has axes.
bool isEmpty(const AxesPerDim &lists);

/// `major`, then `minor`.
AxisRefs concat(const AxisRefs &major, const AxisRefs &minor);

/// All axes, in the order of the dimensions.
AxisRefs flatten(const AxesPerDim &lists);

/// Whether an axis of `a` shares a part with one of `b`. One collective cannot
/// do what two do that both go over it.
bool overlap(const AxesPerDim &a, const AxesPerDim &b, MeshAttr mesh);

/// The local shape of a tensor of `shape` split over `lists` besides.
llvm::SmallVector<int64_t> split(llvm::ArrayRef<int64_t> shape,
                                 const AxesPerDim &lists, MeshAttr mesh);

/// Whether `size` rows in blocks over `major`, each in blocks over `minor`,
/// are the blocks over both: ceil(n / (p q)) rows q times are ceil(n / p).
bool blocksNest(int64_t size, const AxisRefs &major, const AxisRefs &minor,
                MeshAttr mesh);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_COLLECTIVES_AXISLISTS_H
