// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory in which a parent and its workers have their arrays.

#ifndef SHOAL_LIB_RUNTIME_WORKER_SHAREDMEMORY_H
#define SHOAL_LIB_RUNTIME_WORKER_SHAREDMEMORY_H

#include "shoal/Support/Result.h"

#include <cstddef>
#include <cstdint>

namespace shoal::rt::worker {

class SharedMemory {
public:
  explicit SharedMemory(int rank) : rank(rank) {}

  /// Maps so many bytes of a file, which it closes.
  support::Status map(int file, size_t bytes);

  /// Where a place begins on this rank; null if that is outside.
  char *find(int64_t offset, int64_t stride) const;

private:
  int rank;
  char *begin = nullptr;
  size_t size = 0;
};

} // namespace shoal::rt::worker

#endif // SHOAL_LIB_RUNTIME_WORKER_SHAREDMEMORY_H
