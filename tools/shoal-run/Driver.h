// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the command line asks for, done to a module.

#ifndef SHOAL_RUN_DRIVER_H
#define SHOAL_RUN_DRIVER_H

#include "Options.h"
#include "mlir/IR/BuiltinOps.h"

namespace shoal::run {

/// Loads the libraries that --custom-calls names; prints an error otherwise.
llvm::LogicalResult loadCustomCalls(mlir::MLIRContext &context,
                                    llvm::ArrayRef<std::string> paths);

/// Prepares, runs, prints, writes and compares. On failure the reason has been
/// printed.
llvm::LogicalResult run(const Options &options, mlir::ModuleOp module);

} // namespace shoal::run

#endif // SHOAL_RUN_DRIVER_H
