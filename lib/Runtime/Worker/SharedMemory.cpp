// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SharedMemory.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace shoal::rt::worker {

support::Status SharedMemory::map(int file, size_t bytes) {
  void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_NORESERVE, file, /*offset=*/0);
  int error = errno;
  ::close(file);
  if (memory == MAP_FAILED)
    return support::Error{"cannot map the arrays' memory, " +
                          std::to_string(bytes) +
                          " bytes: " + std::strerror(error)};
  begin = static_cast<char *>(memory);
  size = bytes;
  return std::nullopt;
}

char *SharedMemory::find(int64_t offset, int64_t stride) const {
  int64_t place;
  if (__builtin_mul_overflow(stride, int64_t(rank), &place) ||
      __builtin_add_overflow(place, offset, &place) || place < 0 ||
      static_cast<size_t>(place) > size)
    return nullptr;
  return begin + place;
}

} // namespace shoal::rt::worker
