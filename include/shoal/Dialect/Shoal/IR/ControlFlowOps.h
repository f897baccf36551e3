// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_DIALECT_SHOAL_IR_CONTROLFLOWOPS_H
#define SHOAL_DIALECT_SHOAL_IR_CONTROLFLOWOPS_H

#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"

#define GET_OP_CLASSES
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h.inc"

namespace shoal {

/// How often the body of a loop counts in costs where its count is not known.
inline constexpr double kGuessedTripCount = 10;

/// How often `op` runs while its function runs once, by the loops around it;
/// one whose count is not known counts as one trip.
int64_t countRuns(mlir::Operation *op);

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_CONTROLFLOWOPS_H
