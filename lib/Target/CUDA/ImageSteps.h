// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The steps to an image for GPUs.

#ifndef SHOAL_LIB_TARGET_CUDA_IMAGESTEPS_H
#define SHOAL_LIB_TARGET_CUDA_IMAGESTEPS_H

#include "shoal/Target/CUDA/DeviceImage.h"

namespace shoal {

/// A fatbin, of a module whose gpu.module is in NVVM's dialect.
mlir::FailureOr<std::string> buildFatbin(mlir::ModuleOp module,
                                         llvm::ArrayRef<std::string> archs,
                                         llvm::StringRef toolkitDirectory);

/// The PTX of a gpu.module in NVVM's dialect for `arch`, with the functions of
/// libdevice that it uses.
mlir::FailureOr<std::string> translateToPTX(mlir::gpu::GPUModuleOp kernels,
                                            llvm::StringRef arch,
                                            llvm::StringRef toolkitDirectory);

/// The PTX of kernels that have not been lowered; `kernels` stays as it is.
mlir::FailureOr<std::string> buildPTX(mlir::gpu::GPUModuleOp kernels,
                                      llvm::StringRef arch,
                                      llvm::StringRef toolkitDirectory);

/// Registers --shoal-write-image.
void registerWriteImagePass();

} // namespace shoal

#endif // SHOAL_LIB_TARGET_CUDA_IMAGESTEPS_H
