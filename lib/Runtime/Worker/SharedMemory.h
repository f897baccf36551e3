// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory in which a parent and its workers, or a worker alone, have their
// arrays.

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

  /// The same of this process alone, with the pages that were written to.
  support::Status make(size_t bytes);

  /// Where a place begins on this rank; null if that is outside.
  char *find(int64_t offset, int64_t stride) const;

  /// So many bytes at an offset; null if they are not all inside.
  char *findRange(int64_t offset, int64_t bytes) const;

  /// Gives the pages of a range back to the system.
  void release(int64_t offset, int64_t bytes);

private:
  support::Status mapWith(int flags, int file, size_t bytes);

  int rank;
  char *begin = nullptr;
  size_t size = 0;
};

} // namespace shoal::rt::worker

#endif // SHOAL_LIB_RUNTIME_WORKER_SHAREDMEMORY_H
