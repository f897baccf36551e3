// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The two ways to an image.

#ifndef SHOAL_LIB_TARGET_CUDA_IMAGESTEPS_H
#define SHOAL_LIB_TARGET_CUDA_IMAGESTEPS_H

#include "shoal/Target/CUDA/DeviceImage.h"

namespace shoal {

/// A fatbin, of a module whose gpu.module is in NVVM's dialect.
mlir::FailureOr<std::string> buildFatbin(mlir::ModuleOp module,
                                         llvm::ArrayRef<std::string> archs,
                                         llvm::StringRef toolkitDirectory);

/// A shared object, of a module in LLVM's dialect.
mlir::FailureOr<std::string> buildSharedObject(mlir::ModuleOp module);

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

/// A folder for files that go away with this object.
class TemporaryFolder {
public:
  static mlir::FailureOr<std::unique_ptr<TemporaryFolder>>
  create(mlir::Location loc);
  ~TemporaryFolder();
  std::string path(llvm::StringRef file) const;

private:
  explicit TemporaryFolder(llvm::StringRef folder) : folder(folder) {}
  llvm::SmallString<128> folder;
};

mlir::LogicalResult writeFile(llvm::StringRef path, llvm::StringRef contents,
                              mlir::Location loc);
mlir::FailureOr<std::string> readFile(llvm::StringRef path, mlir::Location loc);

} // namespace shoal

#endif // SHOAL_LIB_TARGET_CUDA_IMAGESTEPS_H
