// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the compiler writes must not be what it reads.

#ifndef SHOAL_LIB_COMPILER_OUTPUTS_H
#define SHOAL_LIB_COMPILER_OUTPUTS_H

#include "shoal/Compiler/Driver.h"

namespace shoal {

/// Fails where an output is the program, a file to link, or another output.
mlir::LogicalResult verifyOutputs(const DriverOptions &options,
                                  mlir::Location loc);

} // namespace shoal

#endif // SHOAL_LIB_COMPILER_OUTPUTS_H
