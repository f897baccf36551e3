// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the compiler writes, which must not be what it reads.

#ifndef SHOAL_LIB_COMPILER_OUTPUTS_H
#define SHOAL_LIB_COMPILER_OUTPUTS_H

#include "shoal/Compiler/Driver.h"

namespace shoal {

/// Fails where an output is the program, a file to link, or another output.
mlir::LogicalResult verifyOutputs(const DriverOptions &options,
                                  mlir::Location loc);

using Contents = llvm::function_ref<void(llvm::raw_ostream &)>;

/// Writes `contents(os)` to a file, which is there once it is whole, or to "-",
/// stdout. The file may be run where `isProgram`.
mlir::LogicalResult writeFile(mlir::MLIRContext &context, llvm::StringRef path,
                              Contents contents, bool isProgram = false);

} // namespace shoal

#endif // SHOAL_LIB_COMPILER_OUTPUTS_H
