// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory of the emulated device: allocations of the host that the emulator
// knows, filled with a pattern that shows when it is read before it is written.

#ifndef SHOAL_TEST_EMULATION_MEMORY_H
#define SHOAL_TEST_EMULATION_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace shoal::emulation {

/// What fresh memory holds: as f32 -26711958, as bf16 -26607616.
constexpr unsigned char poison = 0xCB;

/// As cudaMalloc promises.
constexpr size_t allocationAlignment = 256;

struct Allocation {
  uintptr_t begin;
  size_t bytes;
  bool pinned; // of cudaMallocHost
};

/// The one of the process.
class Memory {
public:
  static Memory &get();

  /// Null if the device, or the host, has not as much left. Of 0 bytes: null.
  void *allocate(size_t bytes, bool pinned);
  /// False if it is not the start of an allocation of that kind.
  bool release(void *pointer, bool pinned);

  size_t total() const { return capacity; }
  size_t available() const { return capacity - used; }

  /// The allocation that a byte is in, or null.
  const Allocation *find(uintptr_t address) const;

  /// Ends the program unless the bytes are of one allocation; `who` is the
  /// operation that reads or writes them.
  void checkInside(const std::string &who, uintptr_t begin, uintptr_t end,
                   bool writes) const;

  /// "bytes [0, 64) of the allocation of 4096 bytes"; plain addresses outside.
  std::string describe(uintptr_t begin, uintptr_t end) const;

  const std::map<uintptr_t, Allocation> &all() const { return allocations; }

  void allowHostMemory(bool allow) { hostAllowed = allow; }

private:
  Memory();

  std::map<uintptr_t, Allocation> allocations;
  size_t capacity;
  size_t used = 0;
  bool hostAllowed = false;
};

} // namespace shoal::emulation

#endif // SHOAL_TEST_EMULATION_MEMORY_H
