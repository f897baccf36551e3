// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <sys/mman.h>

namespace shoal::rt {

void Deallocate::operator()(void *memory) const { std::free(memory); }

Buffer allocate(size_t bytes) {
  constexpr size_t line = 64, hugePage = size_t(2) << 20;
  size_t alignment = bytes >= hugePage ? hugePage : line;
  if (bytes > SIZE_MAX - hugePage)
    return nullptr;
  size_t rounded =
      (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void *memory = std::aligned_alloc(alignment, rounded);
  // The last page, where little of it is used, stays in small ones: nothing
  // becomes resident that was not asked for.
  if (memory && alignment == hugePage)
    madvise(memory, bytes / hugePage * hugePage, MADV_HUGEPAGE);
  return Buffer(static_cast<char *>(memory));
}

std::string formatBytes(double bytes) {
  constexpr const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit)
    bytes /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.2f %s", bytes,
                units[unit]);
  return text;
}

} // namespace shoal::rt
