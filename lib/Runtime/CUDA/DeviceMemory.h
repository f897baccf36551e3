// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the GPU: the arena and the shards.

#ifndef SHOAL_LIB_RUNTIME_CUDA_DEVICEMEMORY_H
#define SHOAL_LIB_RUNTIME_CUDA_DEVICEMEMORY_H

#include <cstddef>
#include <memory>

namespace shoal::rt {

struct FreeDeviceMemory {
  void operator()(void *memory) const;
};

/// cudaMalloc'ed.
using DeviceBuffer = std::unique_ptr<void, FreeDeviceMemory>;

/// At least one byte, also for 0; null if there is no such memory.
DeviceBuffer allocateOnDevice(size_t bytes);

/// Bytes that the GPU has left.
size_t freeDeviceMemory();

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_DEVICEMEMORY_H
