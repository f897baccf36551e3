// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// From a per-device program to an executable or shared library for this
// machine's CPU.

#ifndef SHOAL_TARGET_CPU_CPUTARGET_H
#define SHOAL_TARGET_CPU_CPUTARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "shoal/Target/Target.h"

namespace shoal {

/// Adds the dialects and interfaces that the lowering needs.
void registerCPUTarget(mlir::DialectRegistry &registry);

/// The passes from a per-device program to ops on buffers: all products have
/// plans, all memory its place.
void buildCPUPlanPipeline(mlir::OpPassManager &pm);
/// From there to loops and calls of the runtime, in front of the passes to
/// LLVM's dialect.
void buildCPUKernelsPipeline(mlir::OpPassManager &pm);
/// Registers all of them as `--shoal-lower-to-cpu`.
void registerCPUPipelines();

/// Lowers `module` in place to LLVM's dialect, with the entry point and the
/// metadata. Errors are reported at the op they concern. verifyEach: as of
/// runPasses.
mlir::FailureOr<LoweredProgram> lowerForCPU(mlir::ModuleOp module,
                                            StageSeconds &seconds,
                                            OnPrepared onPrepared = {},
                                            OnPlanned onPlanned = {},
                                            bool verifyEach = true);

/// Makes the executable or shared library `outputPath` of what lowerForCPU
/// made of the module. A file is written under a temporary name first, so that
/// a failure leaves nothing half-made behind.
mlir::LogicalResult emitForCPU(mlir::ModuleOp module,
                               const LoweredProgram &program,
                               llvm::StringRef outputPath,
                               const TargetOptions &options,
                               StageSeconds &seconds);

} // namespace shoal

#endif // SHOAL_TARGET_CPU_CPUTARGET_H
