// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which calls may write over what they read.

#ifndef SHOAL_DIALECT_RT_IR_INPLACE_H
#define SHOAL_DIALECT_RT_IR_INPLACE_H

#include "mlir/IR/Operation.h"

namespace shoal::rt {

/// Whether the one output of the call may lie in the memory of its one input:
/// the runtime reads of it what it has not yet written over.
bool mayWriteOverInput(mlir::Operation *call);

} // namespace shoal::rt

#endif // SHOAL_DIALECT_RT_IR_INPLACE_H
