// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who last wrote and read each byte of device memory, and whether the next one
// to touch it is ordered behind them.
//
// Source: happens-before by vector clocks; Flanagan, Freund: "FastTrack:
// efficient and precise dynamic race detection", PLDI 2009. Here the threads
// are streams, and the variables ranges of bytes.

#ifndef SHOAL_TEST_EMULATION_RACES_H
#define SHOAL_TEST_EMULATION_RACES_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace shoal::emulation {

/// How many operations of each stream are known to have ended.
class Clock {
public:
  uint64_t operator[](size_t stream) const {
    return stream < ticks.size() ? ticks[stream] : 0;
  }
  void advance(size_t stream);
  void join(const Clock &other);

private:
  std::vector<uint64_t> ticks;
};

/// Operation number `tick` of a stream. The name lives as long as the process.
struct Operation {
  const char *name = nullptr;
  size_t stream = 0;
  uint64_t tick = 0;

  bool before(const Clock &clock) const { return clock[stream] >= tick; }
  std::string describe() const;
};

/// Bytes [begin, end).
struct Range {
  uintptr_t begin;
  uintptr_t end;
  bool writes;
};

class Races {
public:
  Races();

  /// `operation` touches a range after all that `clock` knows of. Ends the
  /// program if an operation that it does not know of touches the same bytes
  /// and one of the two writes.
  void touch(const Range &range, const Operation &operation,
             const Clock &clock);

  /// Ends the program if two ranges of one operation overlap and one of them is
  /// written, as for the transfers of a group, which run at the same time.
  void checkDisjoint(std::vector<Range> ranges,
                     const Operation &operation) const;

  /// The bytes are of no interest any more.
  void forget(uintptr_t begin, uintptr_t end);

  /// All that comes is ordered behind `clock`.
  void prune(const Clock &clock);

private:
  /// Of the bytes from its key on.
  struct Segment {
    uintptr_t end;
    Operation writer; // without a name: none
    std::vector<Operation> readers;
  };
  using Segments = std::map<uintptr_t, Segment>;

  /// Makes `address` a boundary. The first segment that begins there or later.
  Segments::iterator split(uintptr_t address);
  void write(const Range &range, const Operation &operation);
  void read(const Range &range, const Operation &operation);

  Segments segments;
  size_t pruneAt = 1024;
  bool enabled;
};

} // namespace shoal::emulation

#endif // SHOAL_TEST_EMULATION_RACES_H
