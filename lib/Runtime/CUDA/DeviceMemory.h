// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the GPU: the arena, the shards and the staging of runtime calls.

#ifndef SHOAL_LIB_RUNTIME_CUDA_DEVICEMEMORY_H
#define SHOAL_LIB_RUNTIME_CUDA_DEVICEMEMORY_H

#include <array>
#include <cstddef>
#include <cstdint>
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

/// Memory for the length of one runtime call, kept from call to call. A slot is
/// one region for calls on one stream, which its order keeps apart. The first
/// step makes the slots as large as the program needs.
class DeviceStaging {
public:
  enum Slot {
    /// Of the stream of collectives: what is packed, what comes, and the terms
    /// of a reduction.
    Send,
    Receive,
    Terms,
    numSlots
  };

  static DeviceStaging &get();

  /// Ends the process by an error if there is no memory. To grow, it waits for
  /// the device.
  void *at(Slot slot, size_t bytes);
  template <typename T>
  T *as(Slot slot, size_t count) {
    return static_cast<T *>(at(slot, count * sizeof(T)));
  }

  /// Bytes held now, which is also the most held so far.
  size_t bytes() const;

private:
  struct Region {
    DeviceBuffer buffer;
    size_t bytes = 0;
  };
  std::array<Region, numSlots> regions;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_DEVICEMEMORY_H
