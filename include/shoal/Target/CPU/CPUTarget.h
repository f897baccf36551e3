// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// From a per-device program to an executable or shared library for the host's
// CPU.

#ifndef SHOAL_TARGET_CPU_CPUTARGET_H
#define SHOAL_TARGET_CPU_CPUTARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "shoal/Target/ProgramDescription.h"

namespace shoal {

/// Seconds of each stage of the compilation, in their order.
using StageSeconds = std::vector<std::pair<std::string, double>>;

struct CPUOptions {
  /// A shared library that exports the program's two symbols, without main().
  bool shared = false;
  /// The folder of libshoal_rt_cpu.a and libShoalSupport.a.
  std::string runtimeDirectory;
  /// Where to leave program.mlir (LLVM's dialect), program.ll (optimised) and
  /// program.o; empty for nowhere.
  std::string saveTempsDirectory;
  /// Objects, archives and shared libraries with the functions that custom_call
  /// names.
  std::vector<std::string> linkedFiles;
};

/// What is known of a program once it has been lowered.
struct CPUProgram {
  ProgramDescription description;
  int64_t arenaBytes = 0;
  /// The most bytes of buffers alive at one time: what any plan needs.
  int64_t liveBytes = 0;

  int64_t peakBytes() const { return arenaBytes + description.argumentBytes(); }
};

/// Adds the dialects and interfaces that the lowering needs.
void registerCPUTarget(mlir::DialectRegistry &registry);

/// The passes from a per-device program to LLVM's dialect.
void buildCPULoweringPipeline(mlir::OpPassManager &pm);
/// Registers the above as `--shoal-lower-to-cpu`.
void registerCPUPipelines();

/// Lowers `module` in place to LLVM's dialect, with the entry point and the
/// metadata. Errors are reported at the op they concern.
mlir::FailureOr<CPUProgram> lowerForCPU(mlir::ModuleOp module,
                                        StageSeconds &seconds);

/// Makes the executable or shared library `outputPath` of what lowerForCPU
/// made. A file is written under a temporary name first, so that a failure
/// leaves nothing half-made behind.
mlir::LogicalResult emitForCPU(mlir::ModuleOp module,
                               llvm::StringRef outputPath,
                               const CPUOptions &options,
                               StageSeconds &seconds);

} // namespace shoal

#endif // SHOAL_TARGET_CPU_CPUTARGET_H
