// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the steps of a reversed loop compute again instead of reading it.

#ifndef SHOAL_LIB_TRANSFORMS_REMATERIALIZE_LOOPROWS_H
#define SHOAL_LIB_TRANSFORMS_REMATERIALIZE_LOOPROWS_H

#include "Extract.h"

namespace shoal::remat {

/// Rows that a reversed loop computes again, but for slices of what is there
/// anyway.
struct DroppedRows {
  unsigned count = 0;
  int64_t bytes = 0;
  /// In operations.
  double cost = 0;
};

/// In each loop of the function that another one walks backwards the rows go
/// that policies do not save, and those whose bytes at `price` operations cost
/// more than to compute them again in the other loop's steps: from rows that
/// stay, from counters, and from what is around both loops. Slices of this go
/// at any price. No new rows are kept.
DroppedRows dropRows(mlir::func::FuncOp function,
                     const RematerializePolicy &policy, const Machine &machine,
                     double price);

} // namespace shoal::remat

#endif // SHOAL_LIB_TRANSFORMS_REMATERIALIZE_LOOPROWS_H
