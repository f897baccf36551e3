// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Memory that tells whether anybody wrote in front of it or behind it.

#ifndef SHOAL_LIB_RUNTIME_MEMORY_GUARDEDBUFFER_H
#define SHOAL_LIB_RUNTIME_MEMORY_GUARDEDBUFFER_H

#include "Memory.h"

#include <cstdint>
#include <optional>

namespace shoal::rt {

class GuardedBuffer {
public:
  GuardedBuffer() = default;
  /// `bytes` bytes as of `allocate`, between two zones if `hasZones`; null if
  /// there is no such memory.
  GuardedBuffer(size_t bytes, bool hasZones);

  explicit operator bool() const { return static_cast<bool>(block); }
  char *get() const { return block ? block.get() + zone : nullptr; }

  /// As a piece of memory that nobody has written to: NaN in all floats.
  /// Nothing where there is none.
  void spoil();

  /// The first byte of a zone that is not as it was made, counted from the
  /// first of the buffer: "4 bytes in front of ..." is -4.
  std::optional<int64_t> findDamage() const;

private:
  Buffer block;
  size_t bytes = 0, zone = 0;
};

/// Ends the process by an error that says where `what` was left, if it was.
void expectUntouched(const GuardedBuffer &buffer, const std::string &what);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_MEMORY_GUARDEDBUFFER_H
