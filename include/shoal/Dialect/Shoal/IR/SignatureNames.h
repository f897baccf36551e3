// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What messages call a function's arguments and results.

#ifndef SHOAL_DIALECT_SHOAL_IR_SIGNATURENAMES_H
#define SHOAL_DIALECT_SHOAL_IR_SIGNATURENAMES_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace shoal {

/// `argument 0 "x"`, `result 1 "aux"`: with its `shoal.name`.
std::string describeArgument(mlir::FunctionOpInterface function,
                             unsigned index);
std::string describeResult(mlir::FunctionOpInterface function, unsigned index);

/// The first of these where `kind` is "argument" and the op a function, the
/// second of its results; else `result 0`.
std::string describePlace(mlir::Operation *op, llvm::StringRef kind,
                          unsigned index);

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_SIGNATURENAMES_H
