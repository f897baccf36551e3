// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which number a loop's trips have, where that is known.

#ifndef SHOAL_DIALECT_SHOAL_IR_LOOPCOUNTERS_H
#define SHOAL_DIALECT_SHOAL_IR_LOOPCOUNTERS_H

#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"

namespace shoal {

/// The number of the first trip, and how much more the next one's is.
struct TripNumbers {
  int64_t first, step;

  int64_t last(int64_t trips) const { return first + step * (trips - 1); }
};

/// Of an integer of the body that follows from counters whose beginning and
/// step are known and from constants, by sums, differences, multiples and
/// choices that all trips make alike. A constant's step is 0. Nothing of
/// others, nor where numbers do not fit into the integer's type.
std::optional<TripNumbers> tripNumbersOf(WhileOp loop, mlir::Value value);

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_LOOPCOUNTERS_H
