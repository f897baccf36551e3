// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between the device and pinned memory of the host, which a GPU makes
// while the host goes on. The emulator makes them late: what is copied to the
// host is there only when the host has waited for it, and what is copied from
// the host must be the same until then.
//
// Copies of other memory of the host need no such care: CUDA makes them, or
// takes the data, before the call returns.

#ifndef SHOAL_TEST_EMULATION_PINNEDCOPIES_H
#define SHOAL_TEST_EMULATION_PINNEDCOPIES_H

#include "Races.h"

#include <vector>

namespace shoal::emulation {

class PinnedCopies {
public:
  /// `operation` copies bytes to pinned memory, where there is poison until the
  /// host knows of its end, or an operation of the device needs them.
  void toHost(const Operation &operation, void *target, const void *source,
              size_t bytes);

  /// `operation` reads pinned memory.
  void fromHost(const Operation &operation, const void *source, size_t bytes);

  /// The host knows of the end of all in `clock`. Ends the program if it has
  /// changed what one of them reads.
  void complete(const Clock &clock);

  /// An operation of the device, which is ordered behind those that it needs,
  /// touches these bytes.
  void touch(const Range &range);

  /// The bytes are no memory any more.
  void forget(uintptr_t begin, uintptr_t end);

private:
  struct Copy {
    Operation operation;
    unsigned char *host;
    std::vector<unsigned char> contents;
    bool toHost;

    bool overlaps(uintptr_t begin, uintptr_t end) const;
    void finish() const;
  };

  std::vector<Copy> underWay;
};

} // namespace shoal::emulation

#endif // SHOAL_TEST_EMULATION_PINNEDCOPIES_H
