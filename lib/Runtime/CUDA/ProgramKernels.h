// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels that the compiler generated for a program.

#ifndef SHOAL_LIB_RUNTIME_CUDA_PROGRAMKERNELS_H
#define SHOAL_LIB_RUNTIME_CUDA_PROGRAMKERNELS_H

#include "../Program/Program.h"
#include "Launch.h"

namespace shoal::rt {

class ProgramKernels {
public:
  static ProgramKernels &get();

  /// Loads the image and finds the kernels of the metadata. Fails if the image
  /// has no code for this GPU or lacks a kernel.
  Status load(const CudaProgram &program, const void *image);

  /// Enqueues the kernel with this number on the compute stream.
  void launch(int64_t number, KernelLaunch launch);

private:
  struct Kernel {
    std::string name;
    cudaKernel_t handle = nullptr;
    /// How much dynamic shared memory it may have.
    size_t sharedBytes = 48 << 10;
  };
  std::vector<Kernel> kernels;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_PROGRAMKERNELS_H
