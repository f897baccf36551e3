// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What all targets take and make.

#ifndef SHOAL_TARGET_TARGET_H
#define SHOAL_TARGET_TARGET_H

#include "mlir/Pass/PassManager.h"
#include "shoal/Target/ProgramDescription.h"

namespace shoal {

/// Seconds of each stage of the compilation, in their order.
using StageSeconds = std::vector<std::pair<std::string, double>>;

struct TargetOptions {
  /// A shared library that exports the program's symbols, without main().
  bool shared = false;
  /// The folder of the runtime libraries.
  std::string runtimeDirectory;
  /// Where to leave program.mlir (LLVM's dialect), program.ll (optimised) and
  /// program.o; empty for nowhere.
  std::string saveTempsDirectory;
  /// Objects, archives and shared libraries with the functions that custom_call
  /// names.
  std::vector<std::string> linkedFiles;
};

/// What is known of a program once it has been lowered.
struct LoweredProgram {
  ProgramDescription description;
  int64_t arenaBytes = 0;
  /// The most bytes of buffers alive at one time: what any plan needs.
  int64_t liveBytes = 0;

  int64_t peakBytes() const { return arenaBytes + description.argumentBytes(); }
};

/// The passes that all targets begin with: from a per-device program to calls
/// of kernels, each one linalg op on memrefs, and of the runtime, on buffers
/// with places in one arena. For a device, where each call is a launch and
/// needs many threads, matrix products take biases and activations, reductions
/// their initial values, and long reductions are split.
void buildKernelPipeline(mlir::OpPassManager &pm, bool isDevice);

/// Arithmetic of bf16 and f16 in f32, rounded after every operation, so that
/// values do not depend on the target; divisions that do not trap. With
/// `keepConversions` the target converts bf16 itself.
void addExactArithmetic(mlir::OpPassManager &pm, bool keepConversions);

/// From loops and scalars, and calls of the runtime, to LLVM's dialect for the
/// host.
void buildHostPipeline(mlir::OpPassManager &pm);

} // namespace shoal

#endif // SHOAL_TARGET_TARGET_H
