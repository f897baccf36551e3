// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Aligned host memory: the arena and the shards.

#ifndef SHOAL_LIB_RUNTIME_MEMORY_MEMORY_H
#define SHOAL_LIB_RUNTIME_MEMORY_MEMORY_H

#include <cstddef>
#include <memory>
#include <string>

namespace shoal::rt {

struct Deallocate {
  void operator()(void *memory) const;
};

using Buffer = std::unique_ptr<char[], Deallocate>;

/// At least `bytes` bytes (also for 0) on a 64-byte boundary, in huge pages
/// where that helps; null if there is no such memory.
Buffer allocate(size_t bytes);

/// "12.50 GiB", "3.00 KiB", "17 B".
std::string formatBytes(double bytes);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_MEMORY_MEMORY_H
