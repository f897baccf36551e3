// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProgramKernels.h"
#include "Device.h"

namespace shoal::rt {

ProgramKernels &ProgramKernels::get() {
  static auto *kernels = new ProgramKernels;
  return *kernels;
}

/// "sm_90" of the GPU in use.
static std::string archOfDevice() {
  int major = 0, minor = 0;
  api.cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                             Device::get().ordinal());
  api.cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor,
                             Device::get().ordinal());
  return "sm_" + std::to_string(major) + std::to_string(minor);
}

static Error loadError(const CudaProgram &program, const std::string &what,
                       cudaError_t status) {
  if (status == cudaErrorNoKernelImageForDevice)
    return {"the program is compiled for " + program.arch +
            " and has no code for the GPU here, " + archOfDevice() +
            "; compile it with --cuda-arch=" + archOfDevice()};
  return {what + " cannot be loaded: " + api.cudaGetErrorString(status)};
}

Status ProgramKernels::load(const CudaProgram &program, const void *image) {
  if (program.kernels.empty())
    return std::nullopt;
  if (!image)
    return Error{"the program has no image of its kernels"};
  cudaLibrary_t library = nullptr;
  cudaError_t status = api.cudaLibraryLoadData(&library, image, nullptr,
                                               nullptr, 0, nullptr, nullptr, 0);
  if (status != cudaSuccess)
    return loadError(program, "the program's image of kernels", status);
  for (const std::string &name : program.kernels) {
    Kernel &kernel = kernels.emplace_back(Kernel{name});
    status = api.cudaLibraryGetKernel(&kernel.handle, library, name.c_str());
    if (status != cudaSuccess)
      return loadError(program, "kernel " + name, status);
  }
  return std::nullopt;
}

void ProgramKernels::launch(int64_t number, KernelLaunch launch) {
  Kernel &kernel = kernels[number];
  setActivity("kernel", kernel.name.c_str());
  if (launch.sharedBytes > kernel.sharedBytes) {
    check(api.cudaKernelSetAttributeForDevice(
              kernel.handle, cudaFuncAttributeMaxDynamicSharedMemorySize,
              static_cast<int>(launch.sharedBytes), Device::get().ordinal()),
          "cudaKernelSetAttributeForDevice");
    kernel.sharedBytes = launch.sharedBytes;
  }
  launch.kernel = kernel.handle;
  enqueue(launch, Device::get().compute());
}

} // namespace shoal::rt
