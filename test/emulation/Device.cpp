// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the emulated device says of itself: an H100.

#include "Block.h"
#include "Error.h"
#include "Faults.h"

#include <cuda_runtime_api.h>

using namespace shoal::emulation;

static int deviceCount() {
  static int count =
      static_cast<int>(environmentNumber("SHOAL_EMULATED_DEVICES", 64));
  return count;
}

int shoal::emulation::computeCapability() {
  static int capability =
      static_cast<int>(environmentNumber("SHOAL_EMULATED_CAPABILITY", 90));
  return capability;
}

extern "C" {

cudaError_t cudaDriverGetVersion(int *version) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  if (!version)
    return cudaErrorInvalidValue;
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  if (!count)
    return cudaErrorInvalidValue;
  *count = deviceCount();
  return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t cudaSetDevice(int device) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  return device >= 0 && device < deviceCount() ? cudaSuccess
                                               : cudaErrorInvalidDevice;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute,
                                   int device) {
  if (int failure = injectedFailure(__func__, cudaErrorUnknown))
    return static_cast<cudaError_t>(failure);
  if (device < 0 || device >= deviceCount())
    return cudaErrorInvalidDevice;
  if (!value)
    return cudaErrorInvalidValue;
  switch (attribute) {
  case cudaDevAttrComputeCapabilityMajor:
    *value = computeCapability() / 10;
    return cudaSuccess;
  case cudaDevAttrComputeCapabilityMinor:
    *value = computeCapability() % 10;
    return cudaSuccess;
  case cudaDevAttrPciDomainId:
  case cudaDevAttrPciDeviceId:
    *value = 0;
    return cudaSuccess;
  case cudaDevAttrPciBusId:
    *value = device + static_cast<int>(
                          environmentNumber("SHOAL_EMULATED_FIRST_DEVICE", 0));
    return cudaSuccess;
  case cudaDevAttrWarpSize:
    *value = static_cast<int>(warpSize);
    return cudaSuccess;
  case cudaDevAttrMultiProcessorCount:
    *value = 132;
    return cudaSuccess;
  case cudaDevAttrMaxThreadsPerBlock:
    *value = static_cast<int>(maxThreadsPerBlock);
    return cudaSuccess;
  case cudaDevAttrMaxSharedMemoryPerBlock:
    *value = static_cast<int>(maxStaticSharedBytes);
    return cudaSuccess;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin:
    *value = static_cast<int>(maxSharedBytes);
    return cudaSuccess;
  default:
    explain(text("cudaDeviceGetAttribute: attribute ", attribute,
                 " is not known to the emulator"));
    return cudaErrorInvalidValue;
  }
}

const char *cudaGetErrorString(cudaError_t error) {
  switch (error) {
  case cudaSuccess:
    return "no error";
  case cudaErrorInvalidValue:
    return "invalid argument";
  case cudaErrorMemoryAllocation:
    return "out of memory";
  case cudaErrorInvalidConfiguration:
    return "invalid configuration argument";
  case cudaErrorInvalidMemcpyDirection:
    return "invalid copy direction for memcpy";
  case cudaErrorInsufficientDriver:
    return "CUDA driver version is insufficient for CUDA runtime version";
  case cudaErrorInvalidDeviceFunction:
    return "invalid device function";
  case cudaErrorNoDevice:
    return "no CUDA-capable device is detected";
  case cudaErrorInvalidDevice:
    return "invalid device ordinal";
  case cudaErrorInvalidKernelImage:
    return "device kernel image is invalid";
  case cudaErrorNoKernelImageForDevice:
    return "no kernel image is available for execution on the device";
  case cudaErrorInvalidResourceHandle:
    return "invalid resource handle";
  case cudaErrorSymbolNotFound:
    return "named symbol not found";
  case cudaErrorNotReady:
    return "device not ready";
  case cudaErrorIllegalAddress:
    return "an illegal memory access was encountered";
  case cudaErrorUnknown:
    return "unknown error";
  default:
    return "unrecognized error code";
  }
}
} // extern "C"
