// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The stages of shoalc.

#ifndef SHOAL_TOOLS_SHOALC_DRIVER_H
#define SHOAL_TOOLS_SHOALC_DRIVER_H

#include "shoal/Target/CPU/CPUTarget.h"
#include "shoal/Target/CUDA/CUDATarget.h"
#include "shoal/Transforms/Pipelines.h"

namespace shoal {

enum class Emit { Executable, Shared, Spmd, Report };
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
};

/// Compiles as the options say. Errors go to the context's diagnostics.
mlir::LogicalResult compile(mlir::MLIRContext &context,
                            const DriverOptions &options);

} // namespace shoal

#endif // SHOAL_TOOLS_SHOALC_DRIVER_H
