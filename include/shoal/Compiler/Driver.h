// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The stages of the compiler, as shoalc and the Python package run them.

#ifndef SHOAL_COMPILER_DRIVER_H
#define SHOAL_COMPILER_DRIVER_H

#include "shoal/Target/CPU/CPUTarget.h"
#include "shoal/Target/CUDA/CUDATarget.h"
#include "shoal/Transforms/Pipelines.h"

namespace shoal {

enum class Emit { Executable, Shared, Spmd, Report, Summary };
enum class Target { CPU, CUDA };

struct DriverOptions {
  std::string inputPath, outputPath, statsPath;
  /// The function to compile; empty for the one public function.
  std::string entry;
  Emit emit = Emit::Executable;
  Target target = Target::CPU;
  TargetOptions files;
  CUDAOptions cuda;
  PartitionOptions partition;
  /// Where to leave the page of Emit::Report, whatever is emitted; may be null.
  std::string *report = nullptr;
};

/// Adds what programs consist of; compile adds what their lowerings do.
void registerCompiler(mlir::DialectRegistry &registry);

/// Makes the program of one device of a module, where it is not one already.
mlir::LogicalResult partition(mlir::ModuleOp module,
                              const DriverOptions &options,
                              StageSeconds &seconds);

/// Lowers a per-device program and writes what the options ask for. Without an
/// output path Emit::Executable and Emit::Shared write nothing.
mlir::FailureOr<LoweredProgram> emit(mlir::ModuleOp module,
                                     const DriverOptions &options,
                                     StageSeconds &seconds);

/// Compiles the file `inputPath`. Errors go to the context's diagnostics.
mlir::LogicalResult compile(mlir::MLIRContext &context,
                            const DriverOptions &options);

} // namespace shoal

#endif // SHOAL_COMPILER_DRIVER_H
