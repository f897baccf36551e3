// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Isolation.h"
#include "Error.h"
#include "Memory.h"

#include <algorithm>
#include <cstring>

namespace shoal::emulation {

static unsigned char *bytesAt(uintptr_t address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): ranges are numbers.
  return reinterpret_cast<unsigned char *>(address);
}

static bool isAskedFor() {
  static bool asked = environmentNumber("SHOAL_EMULATION_ISOLATE", 0) != 0;
  return asked;
}

/// The bytes of [begin, end) that are in no range, in order.
static std::vector<Range> complement(uintptr_t begin, uintptr_t end,
                                     std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });
  std::vector<Range> rest;
  for (const Range &range : ranges) {
    if (range.begin > begin && begin < end)
      rest.push_back({begin, std::min(range.begin, end), false});
    begin = std::max(begin, range.end);
  }
  if (begin < end)
    rest.push_back({begin, end, false});
  return rest;
}

Isolation::Isolation(std::string name, const std::vector<Range> &ranges)
    : kernel(std::move(name)) {
  if (ranges.empty() || !isAskedFor())
    return;
  std::vector<Range> written;
  for (const Range &range : ranges)
    if (range.writes)
      written.push_back(range);
  // In place: what is read and written may change.
  for (const Range &range : ranges)
    if (!range.writes)
      for (const Range &part : complement(range.begin, range.end, written))
        save(part.begin, part.end, /*hide=*/false);
  for (const auto &[begin, allocation] : Memory::get().all())
    for (const Range &part :
         complement(begin, begin + allocation.bytes, ranges))
      save(part.begin, part.end, /*hide=*/true);
}

/// Whether all bytes are poison. At memcmp's speed: each is as the one before.
static bool isPoison(const unsigned char *bytes, size_t size) {
  return bytes[0] == poison && std::memcmp(bytes, bytes + 1, size - 1) == 0;
}

void Isolation::save(uintptr_t begin, uintptr_t end, bool hide) {
  unsigned char *bytes = bytesAt(begin);
  // Much memory has never been written, as most of a workspace.
  if (hide && isPoison(bytes, end - begin)) {
    saved.push_back({begin, end, {}, hide});
    return;
  }
  saved.push_back({begin, end, {bytes, bytes + (end - begin)}, hide});
  if (hide)
    std::memset(bytes, poison, end - begin);
}

void Isolation::check(const Saved &part) const {
  const unsigned char *bytes = bytesAt(part.begin);
  size_t size = part.end - part.begin;
  if (part.hidden ? isPoison(bytes, size)
                  : std::memcmp(bytes, part.contents.data(), size) == 0)
    return;
  size_t i = 0;
  while (bytes[i] == (part.hidden ? poison : part.contents[i]))
    ++i;
  uintptr_t at = part.begin + i;
  fail(text("kernel ", kernel, " writes ", Memory::get().describe(at, at + 1),
            part.hidden ? ", which it does not declare"
                        : ", which it declares to read alone"));
}

Isolation::~Isolation() {
  for (const Saved &part : saved) {
    check(part);
    if (part.hidden && !part.contents.empty())
      std::memcpy(bytesAt(part.begin), part.contents.data(),
                  part.contents.size());
  }
}

} // namespace shoal::emulation
