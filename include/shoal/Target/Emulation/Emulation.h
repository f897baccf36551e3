// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the compiler knows of the emulated device of test/emulation, on which
// tests run programs for CUDA without a GPU: it is one more architecture, whose
// image of kernels is a shared object of the host. See docs/internals/CUDA.md.

#ifndef SHOAL_TARGET_EMULATION_EMULATION_H
#define SHOAL_TARGET_EMULATION_EMULATION_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace shoal {

/// Among `--cuda-arch`s; it goes with no other.
inline constexpr llvm::StringLiteral kEmulatedArch = "emulated";

/// From a module of `gpu.module`s to LLVM's dialect for the host: functions by
/// the ABI of EmulatedKernel.h.
void buildEmulatedKernelPipeline(mlir::OpPassManager &pm);
/// Registers the above as `--shoal-lower-kernels-to-functions`.
void registerEmulationPipelines();

/// The shared object of a module that the pipeline has lowered.
mlir::FailureOr<std::string> buildEmulatedImage(mlir::ModuleOp module);

/// Where programs find the library that stands for NVIDIA's.
std::string findEmulationLibrary(llvm::StringRef runtimeDirectory);

} // namespace shoal

#endif // SHOAL_TARGET_EMULATION_EMULATION_H
