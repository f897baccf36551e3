// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a kernel touches what it declares and nothing else. With
// SHOAL_EMULATION_ISOLATE=1 it runs while all other memory of the device holds
// poison: what it reads there shows in its results, what it writes there, or to
// ranges that it declares to read alone, ends the program. Takes the time of
// two copies of all allocations for each launch.

#ifndef SHOAL_TEST_EMULATION_ISOLATION_H
#define SHOAL_TEST_EMULATION_ISOLATION_H

#include "Races.h"

#include <string>
#include <vector>

namespace shoal::emulation {

/// During its life a kernel runs that declared `ranges`. Does nothing if it
/// declared none, or if isolation is not asked for.
class Isolation {
public:
  Isolation(std::string kernel, const std::vector<Range> &ranges);
  ~Isolation();
  Isolation(const Isolation &) = delete;
  Isolation &operator=(const Isolation &) = delete;

private:
  /// Bytes that the kernel must not write, with what they hold otherwise.
  struct Saved {
    uintptr_t begin;
    uintptr_t end;
    std::vector<unsigned char> contents; // none if they are poison anyway
    bool hidden;                         // poisoned now
  };

  void save(uintptr_t begin, uintptr_t end, bool hide);
  void check(const Saved &saved) const;

  std::string kernel;
  std::vector<Saved> saved;
};

} // namespace shoal::emulation

#endif // SHOAL_TEST_EMULATION_ISOLATION_H
