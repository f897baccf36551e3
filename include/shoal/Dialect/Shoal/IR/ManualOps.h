// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parts of a program that are written for one device.

#ifndef SHOAL_DIALECT_SHOAL_IR_MANUALOPS_H
#define SHOAL_DIALECT_SHOAL_IR_MANUALOPS_H

#include "shoal/Dialect/Shoal/IR/Shoal.h"

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/ManualOps.h.inc"

namespace shoal {

/// The axes of each dimension of `sharding` that `axes` of `mesh` cover, and
/// those that are not.
struct SplitAxes {
  llvm::SmallVector<llvm::SmallVector<AxisRefAttr>> named, others;
};
SplitAxes splitAxes(ShardingAttr sharding, AxesAttr axes, MeshAttr mesh);

/// The axes along which the body of `region` is written for one device: its
/// own and those of the regions around it, outermost first.
llvm::SmallVector<AxisRefAttr> manualAxesIn(ManualComputationOp region);

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_MANUALOPS_H
