// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// From a per-device program to an executable or shared library for one GPU a
// rank, or for the device that the tests emulate. See docs/internals/CUDA.md.

#ifndef SHOAL_TARGET_CUDA_CUDATARGET_H
#define SHOAL_TARGET_CUDA_CUDATARGET_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OwningOpRef.h"
#include "shoal/Conversion/Memory/Passes.h"
#include "shoal/Target/Target.h"

namespace shoal {

struct CUDAOptions {
  /// "sm_90": the GPUs that the kernels are assembled for; others that are
  /// newer than the last one take its PTX. Or "emulated" alone.
  std::vector<std::string> archs = {"sm_90"};
  /// The CUDA toolkit; empty to look for it.
  std::string toolkitDirectory;
  /// Products of f32 in TF32, which has ten bits of mantissa.
  bool tf32 = false;
  /// How much more a device may hold so that collectives run beside kernels,
  /// in parts of all that it holds.
  double overlapMemory = kOverlapMemory;
};

struct CUDAProgram {
  LoweredProgram program;
  /// A module with the gpu.module of the kernels; none where there are none.
  mlir::OwningOpRef<mlir::ModuleOp> kernels;
  std::vector<std::string> kernelNames;
  /// The arena's last bytes.
  std::string constants;
};

/// Adds the dialects and interfaces that the lowering needs.
void registerCUDATarget(mlir::DialectRegistry &registry);

/// The passes from a per-device program to calls of the runtime, and kernels.
void buildCUDALoweringPipeline(mlir::OpPassManager &pm,
                               const Overlap &overlap = {});
/// Registers the above as `--shoal-lower-to-cuda`.
void registerCUDAPipelines();

/// Lowers `module` in place to LLVM's dialect for the host, with the entry
/// point, and takes the kernels out of it. Errors are reported at the op they
/// concern. toLLVM: false where nobody makes a file of it, and what is known
/// when memory is planned is all that is asked for; kernels stay in the module
/// then. verifyEach: as of runPasses.
mlir::FailureOr<CUDAProgram>
lowerForCUDA(mlir::ModuleOp module, StageSeconds &seconds,
             OnPrepared onPrepared = {}, OnPlanned onPlanned = {},
             bool toLLVM = true, const Overlap &overlap = {},
             bool verifyEach = true);

/// Makes the executable or shared library `outputPath` of what lowerForCUDA
/// made.
mlir::LogicalResult emitForCUDA(mlir::ModuleOp module, CUDAProgram &program,
                                llvm::StringRef outputPath,
                                const TargetOptions &options,
                                const CUDAOptions &cuda, StageSeconds &seconds);

} // namespace shoal

#endif // SHOAL_TARGET_CUDA_CUDATARGET_H
