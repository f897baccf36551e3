// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GuardedBuffer.h"
#include "../Program/Fatal.h"

#include <cstring>

namespace shoal::rt {

/// Wide enough for a row of a matrix, and a multiple of all alignments.
static constexpr size_t zoneBytes = 4096;
static constexpr unsigned char zonePattern = 0xA5;

GuardedBuffer::GuardedBuffer(size_t bytes, bool hasZones)
    : bytes(bytes), zone(hasZones ? zoneBytes : 0) {
  block = allocate(bytes + 2 * zone);
  if (!block)
    return;
  std::memset(block.get(), zonePattern, zone);
  std::memset(block.get() + zone + bytes, zonePattern, zone);
}

void GuardedBuffer::spoil() {
  if (block)
    std::memset(get(), 0xFF, bytes);
}

std::optional<int64_t> GuardedBuffer::findDamage() const {
  auto isDamaged = [&](int64_t at) {
    return static_cast<unsigned char>(get()[at]) != zonePattern;
  };
  auto width = static_cast<int64_t>(zone), end = static_cast<int64_t>(bytes);
  for (int64_t before = 1; before <= width; ++before)
    if (isDamaged(-before))
      return -before;
  for (int64_t at = end; at < end + width; ++at)
    if (isDamaged(at))
      return at;
  return std::nullopt;
}

void expectUntouched(const GuardedBuffer &buffer, const std::string &what) {
  std::optional<int64_t> damage = buffer ? buffer.findDamage() : std::nullopt;
  if (!damage)
    return;
  fatal("something wrote outside of " + what + ": at byte " +
        std::to_string(*damage) + " of it");
}

} // namespace shoal::rt
