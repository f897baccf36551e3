// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "DeviceMemory.h"
#include "Timeline.h"

#include <algorithm>

namespace shoal::rt {

void FreeDeviceMemory::operator()(void *memory) const {
  // Fails only if an earlier operation did, which has its own message.
  api.cudaFree(memory);
}

DeviceBuffer allocateOnDevice(size_t bytes) {
  void *memory = nullptr;
  if (api.cudaMalloc(&memory, std::max<size_t>(bytes, 1)) != cudaSuccess)
    return nullptr;
  return DeviceBuffer(memory);
}

size_t freeDeviceMemory() {
  size_t left = 0, total = 0;
  check(api.cudaMemGetInfo(&left, &total), "cudaMemGetInfo");
  return left;
}

} // namespace shoal::rt
