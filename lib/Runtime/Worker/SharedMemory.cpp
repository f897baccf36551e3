// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SharedMemory.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace shoal::rt::worker {

support::Status SharedMemory::map(int file, size_t bytes) {
  support::Status failed = mapWith(MAP_SHARED, file, bytes);
  ::close(file);
  return failed;
}

support::Status SharedMemory::make(size_t bytes) {
  return mapWith(MAP_PRIVATE | MAP_ANONYMOUS, /*file=*/-1, bytes);
}

support::Status SharedMemory::mapWith(int flags, int file, size_t bytes) {
  void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        flags | MAP_NORESERVE, file, /*offset=*/0);
  int error = errno;
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

char *SharedMemory::findRange(int64_t offset, int64_t bytes) const {
  bool isInside = offset >= 0 && bytes >= 0 &&
                  static_cast<size_t>(offset) <= size &&
                  static_cast<size_t>(bytes) <= size - offset;
  return isInside ? begin + offset : nullptr;
}

void SharedMemory::release(int64_t offset, int64_t bytes) {
  if (char *range = findRange(offset, bytes))
    ::madvise(range, bytes, MADV_DONTNEED);
}

} // namespace shoal::rt::worker
