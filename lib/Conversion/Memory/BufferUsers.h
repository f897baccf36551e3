// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Who uses a buffer, and whether a view is all of it.

#ifndef SHOAL_LIB_CONVERSION_MEMORY_BUFFERUSERS_H
#define SHOAL_LIB_CONVERSION_MEMORY_BUFFERUSERS_H

#include "mlir/IR/Operation.h"

namespace shoal {

/// The ops that use `memory`, itself or through views, as ops of its own block.
/// Nothing where it goes where they cannot be seen: to a region's arguments or
/// another block.
std::optional<llvm::SmallVector<mlir::Operation *>>
findUsers(mlir::Value memory);

/// Whether `view` is all of `memory`, a dense buffer.
bool isWhole(mlir::Value view, mlir::Value memory);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_MEMORY_BUFFERUSERS_H
