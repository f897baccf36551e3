// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The collectives that fetch rows from wherever they are: each row of a result
// is looked up at the device that has it.

#ifndef SHOAL_LIB_REFERENCE_ROWEXCHANGE_H
#define SHOAL_LIB_REFERENCE_ROWEXCHANGE_H

#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Reference/DeviceGrid.h"
#include "shoal/Reference/ReferenceInterface.h"

namespace shoal::reference {

GridValue evaluateHaloExchange(spmd::HaloExchangeOp op, const DeviceGrid &grid,
                               llvm::ArrayRef<GridValue> operands);

/// Emits an error where the target mesh does not fit.
llvm::FailureOr<GridValue> evaluateExchange(spmd::ExchangeOp op,
                                            const DeviceGrid &grid,
                                            llvm::ArrayRef<GridValue> operands);

} // namespace shoal::reference

#endif // SHOAL_LIB_REFERENCE_ROWEXCHANGE_H
