// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Races.h"
#include "Error.h"
#include "Memory.h"

#include <algorithm>

namespace shoal::emulation {

void Clock::advance(size_t stream) {
  if (ticks.size() <= stream)
    ticks.resize(stream + 1);
  ++ticks[stream];
}

void Clock::join(const Clock &other) {
  if (ticks.size() < other.ticks.size())
    ticks.resize(other.ticks.size());
  for (size_t i = 0; i < other.ticks.size(); ++i)
    ticks[i] = std::max(ticks[i], other.ticks[i]);
}

std::string Operation::describe() const {
  return text(name, " (operation ", tick, " of stream ", stream, ")");
}

Races::Races() : enabled(environmentNumber("SHOAL_EMULATION_RACES", 1) != 0) {}

[[noreturn]] static void report(const Range &range, const Operation &operation,
                                const Operation &other, bool otherWrites) {
  fail(text("race: ", operation.describe(),
            range.writes ? " writes " : " reads ",
            Memory::get().describe(range.begin, range.end), ", which ",
            other.describe(), otherWrites ? " writes" : " reads",
            ", and no event orders the two"));
}

void Races::touch(const Range &range, const Operation &operation,
                  const Clock &clock) {
  if (!enabled || range.begin == range.end)
    return;
  auto at = segments.upper_bound(range.begin);
  if (at != segments.begin() && std::prev(at)->second.end > range.begin)
    --at;
  for (; at != segments.end() && at->first < range.end; ++at) {
    const Segment &segment = at->second;
    Range common = {std::max(at->first, range.begin),
                    std::min(segment.end, range.end), range.writes};
    if (segment.writer.name && !segment.writer.before(clock))
      report(common, operation, segment.writer, /*otherWrites=*/true);
    if (!range.writes)
      continue;
    for (const Operation &reader : segment.readers)
      if (!reader.before(clock))
        report(common, operation, reader, /*otherWrites=*/false);
  }
  if (range.writes)
    write(range, operation);
  else
    read(range, operation);
}

Races::Segments::iterator Races::split(uintptr_t address) {
  auto next = segments.lower_bound(address);
  if (next == segments.begin())
    return next;
  auto [begin, segment] = *std::prev(next);
  if (segment.end <= address)
    return next;
  std::prev(next)->second.end = address;
  return segments.emplace_hint(next, address, std::move(segment));
}

void Races::write(const Range &range, const Operation &operation) {
  auto first = split(range.begin), last = split(range.end);
  // An insertion at the end of the range may have come before `first`.
  first = segments.lower_bound(range.begin);
  segments.erase(first, last);
  auto inserted =
      segments.emplace(range.begin, Segment{range.end, operation, {}}).first;
  // A kernel that writes neighbouring ranges: one segment.
  if (inserted == segments.begin())
    return;
  auto before = std::prev(inserted);
  const Operation &writer = before->second.writer;
  if (before->second.end != range.begin || writer.name != operation.name ||
      writer.stream != operation.stream || writer.tick != operation.tick ||
      !before->second.readers.empty())
    return;
  before->second.end = range.end;
  segments.erase(inserted);
}

void Races::read(const Range &range, const Operation &operation) {
  split(range.begin);
  auto last = split(range.end);
  uintptr_t at = range.begin;
  for (auto next = segments.lower_bound(range.begin);; ++next) {
    // A gap: bytes that nobody has touched yet.
    uintptr_t begin = next == last ? range.end : next->first;
    if (at < begin)
      segments.emplace_hint(next, at, Segment{begin, {}, {operation}});
    if (next == last)
      return;
    std::vector<Operation> &readers = next->second.readers;
    auto same = std::find_if(readers.begin(), readers.end(), [&](auto &reader) {
      return reader.stream == operation.stream;
    });
    if (same == readers.end())
      readers.push_back(operation);
    else
      *same = operation; // later in the same stream: stands for both
    at = next->second.end;
  }
}

void Races::checkDisjoint(std::vector<Range> ranges,
                          const Operation &operation) const {
  if (!enabled)
    return;
  std::erase_if(ranges, [](const Range &r) { return r.begin == r.end; });
  std::sort(ranges.begin(), ranges.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });
  // The furthest ends so far, of all ranges and of those that are written.
  uintptr_t any = 0, written = 0;
  for (const Range &range : ranges) {
    if (range.begin < (range.writes ? any : written))
      fail(text("race: two parts of ", operation.describe(), " touch ",
                Memory::get().describe(
                    range.begin, std::min(range.end, std::max(any, written))),
                ", and one of them writes"));
    any = std::max(any, range.end);
    if (range.writes)
      written = std::max(written, range.end);
  }
}

void Races::forget(uintptr_t begin, uintptr_t end) {
  split(begin);
  auto last = split(end);
  segments.erase(segments.lower_bound(begin), last);
}

void Races::prune(const Clock &clock) {
  if (segments.size() < pruneAt)
    return;
  for (auto at = segments.begin(); at != segments.end();) {
    Segment &segment = at->second;
    std::erase_if(segment.readers, [&](const Operation &reader) {
      return reader.before(clock);
    });
    if (segment.writer.name && segment.writer.before(clock))
      segment.writer = {};
    bool idle = !segment.writer.name && segment.readers.empty();
    at = idle ? segments.erase(at) : std::next(at);
  }
  pruneAt = std::max<size_t>(1024, 2 * segments.size());
}

} // namespace shoal::emulation
