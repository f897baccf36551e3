// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// From kernels to the image that a program carries.

#ifndef SHOAL_TARGET_CUDA_DEVICEIMAGE_H
#define SHOAL_TARGET_CUDA_DEVICEIMAGE_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace shoal {

/// Adds the dialects and translations that images need.
void registerDeviceImage(mlir::DialectRegistry &registry);

/// From a module of `gpu.module`s to NVVM's dialect inside of them.
void buildNVVMPipeline(mlir::OpPassManager &pm);
/// Registers the above as `--shoal-lower-kernels-to-nvvm`.
void registerDeviceImagePipelines();

/// The image of the kernels for `archs`. "sm_80", "sm_90", ...: a fatbin with
/// code for each and the PTX of the newest; "emulated", alone: a shared object
/// of the host. The toolkit's tools are looked for in `toolkitDirectory`, or,
/// where that is empty, in CUDA_HOME, CUDA_PATH, CUDA_ROOT, the PATH and the
/// folder of the build. An error names what is not there. `kernels` stays as
/// it is.
mlir::FailureOr<std::string> buildImage(mlir::gpu::GPUModuleOp kernels,
                                        llvm::ArrayRef<std::string> archs,
                                        llvm::StringRef toolkitDirectory);

} // namespace shoal

#endif // SHOAL_TARGET_CUDA_DEVICEIMAGE_H
