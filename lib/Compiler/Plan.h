// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Chooses a program's mesh and shardings, in the place of compiling it.

#ifndef SHOAL_LIB_COMPILER_PLAN_H
#define SHOAL_LIB_COMPILER_PLAN_H

#include "shoal/Compiler/Driver.h"

namespace shoal {

/// Prints the plans of a global program, and writes it to the output path with
/// the mesh and the annotations of the best: as it was written where arguments
/// alone are annotated, else as its import leaves it.
mlir::LogicalResult planProgram(mlir::ModuleOp module,
                                const DriverOptions &options);

} // namespace shoal

#endif // SHOAL_LIB_COMPILER_PLAN_H
