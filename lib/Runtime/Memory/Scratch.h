// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The memory that a call of the runtime has for its own length.

#ifndef SHOAL_LIB_RUNTIME_MEMORY_SCRATCH_H
#define SHOAL_LIB_RUNTIME_MEMORY_SCRATCH_H

#include "GuardedBuffer.h"

#include <span>
#include <vector>

namespace shoal::rt {

/// Gives pieces of it away, one after the other.
class Scratch {
public:
  /// `bytes` bytes from `memory` on, which is aligned for pieces.
  Scratch(void *memory, int64_t bytes)
      : next(static_cast<char *>(memory)), left(memory ? bytes : 0) {}
  Scratch(Scratch &&) = default;
  Scratch &operator=(Scratch &&) = delete;
  /// Where pieces have zones, looks at them.
  ~Scratch();

  /// `bytes` bytes, aligned for any element. Ends the process by an error where
  /// they are not there: the program and its runtime disagree.
  void *take(int64_t bytes);
  template <typename T>
  std::span<T> take(int64_t count) {
    return {static_cast<T *>(take(count * static_cast<int64_t>(sizeof(T)))),
            static_cast<size_t>(count)};
  }

  /// From here on pieces lie between zones, outside of the program's memory,
  /// and hold NaN at first. Off at first; of host memory alone.
  static void setGuarded(bool guarded);

private:
  char *next;
  int64_t left;
  std::vector<GuardedBuffer> guarded;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_MEMORY_SCRATCH_H
