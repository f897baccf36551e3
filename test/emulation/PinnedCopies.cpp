// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PinnedCopies.h"
#include "Error.h"
#include "Memory.h"

#include <algorithm>
#include <cstring>

namespace shoal::emulation {

bool PinnedCopies::Copy::overlaps(uintptr_t begin, uintptr_t end) const {
  uintptr_t own = reinterpret_cast<uintptr_t>(host);
  return own < end && begin < own + contents.size();
}

void PinnedCopies::Copy::finish() const {
  if (toHost) {
    std::memcpy(host, contents.data(), contents.size());
    return;
  }
  auto [changed, _] =
      std::mismatch(host, host + contents.size(), contents.begin());
  if (changed == host + contents.size())
    return;
  uintptr_t at = reinterpret_cast<uintptr_t>(changed);
  fail(text("the host has changed ", Memory::get().describe(at, at + 1),
            " in pinned memory, which ", operation.describe(),
            " reads, before it waited for that"));
}

void PinnedCopies::toHost(const Operation &operation, void *target,
                          const void *source, size_t bytes) {
  const auto *from = static_cast<const unsigned char *>(source);
  auto *to = static_cast<unsigned char *>(target);
  underWay.push_back({operation, to, {from, from + bytes}, /*toHost=*/true});
  std::memset(target, poison, bytes);
}

void PinnedCopies::fromHost(const Operation &operation, const void *source,
                            size_t bytes) {
  // Only compared, never written.
  auto *from =
      const_cast<unsigned char *>(static_cast<const unsigned char *>(source));
  underWay.push_back({operation, from, {from, from + bytes}, /*toHost=*/false});
}

void PinnedCopies::complete(const Clock &clock) {
  std::erase_if(underWay, [&](const Copy &copy) {
    bool ended = copy.operation.before(clock);
    if (ended)
      copy.finish();
    return ended;
  });
}

void PinnedCopies::touch(const Range &range) {
  std::erase_if(underWay, [&](const Copy &copy) {
    bool needed =
        copy.overlaps(range.begin, range.end) && (copy.toHost || range.writes);
    if (needed)
      copy.finish();
    return needed;
  });
}

void PinnedCopies::forget(uintptr_t begin, uintptr_t end) {
  std::erase_if(underWay,
                [&](const Copy &copy) { return copy.overlaps(begin, end); });
}

} // namespace shoal::emulation
