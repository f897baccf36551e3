// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The reference interpreter: the meaning of global and of per-device programs,
// one op after the other, on one or many devices in lockstep.

#ifndef SHOAL_REFERENCE_INTERPRETER_H
#define SHOAL_REFERENCE_INTERPRETER_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "shoal/Reference/ReferenceInterface.h"

namespace shoal::reference {

/// Runs `function` on `numDevices` devices: every device runs the same ops on
/// its own values, `arguments[i][device]`. Returns what the function returns.
///
/// The interpreter knows no op by name: it asks ReferenceOpInterface, then
/// GridOpInterface. Calls and returns are known by their interfaces. An op
/// without a meaning, a type other than a static tensor or scalar of the
/// element types, a function of several blocks and a recursive call are errors
/// at the op.
mlir::FailureOr<GridValues> interpret(mlir::FunctionOpInterface function,
                                      llvm::ArrayRef<GridValue> arguments,
                                      int64_t numDevices);

} // namespace shoal::reference

#endif // SHOAL_REFERENCE_INTERPRETER_H
