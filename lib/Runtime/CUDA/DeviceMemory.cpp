// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "DeviceMemory.h"
#include "../Common/Memory.h"
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

DeviceStaging &DeviceStaging::get() {
  // Never destroyed: the driver may be gone before static objects are.
  static auto *staging = new DeviceStaging;
  return *staging;
}

void *DeviceStaging::at(Slot slot, size_t bytes) {
  Region &region = regions[slot];
  if (region.buffer && region.bytes >= bytes)
    return region.buffer.get();
  // Work under way may use it.
  waitForDevice();
  region.buffer.reset();
  region.buffer = allocateOnDevice(bytes);
  if (!region.buffer)
    fatal("staging of a runtime call needs " +
          formatBytes(static_cast<double>(bytes)) + ", device has " +
          formatBytes(static_cast<double>(freeDeviceMemory())));
  region.bytes = bytes;
  return region.buffer.get();
}

size_t DeviceStaging::bytes() const {
  size_t total = 0;
  for (const Region &region : regions)
    total += region.bytes;
  return total;
}

} // namespace shoal::rt
