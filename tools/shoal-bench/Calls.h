// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call of the runtime with memory for it, as a program makes it.

#ifndef SHOAL_BENCH_CALLS_H
#define SHOAL_BENCH_CALLS_H

#include "Memory/Memory.h"
#include "Program/Calls.h"

#include <functional>

namespace shoal::bench {

/// A tensor that lies at four places in turn: as in a step, what other ops use
/// has gone through the caches since it was last touched. So what is small
/// stays in them, and what is large does not.
class Tensor {
public:
  static constexpr size_t places = 4;

  /// Of memory of `size` bytes, where fewer places may fit.
  Tensor(char *begin, size_t size, size_t bytes);

  void *next() {
    place = (place + 1) % count;
    return begin + place * bytes;
  }

private:
  char *begin;
  size_t bytes, count, place = 0;
};

/// Memory that all calls share: they are measured one by one.
class Memory {
public:
  /// Touched, so that no call waits for the system.
  explicit Memory(size_t bytesOfEach);

  Tensor left(int64_t bytes) const { return tensor(0, bytes); }
  Tensor right(int64_t bytes) const { return tensor(1, bytes); }
  Tensor result(int64_t bytes) const { return tensor(2, bytes); }
  /// Calls use the same again and again.
  void *scratch() const { return buffers[3].get(); }
  /// Of each.
  int64_t bytes() const { return static_cast<int64_t>(size); }

private:
  Tensor tensor(int buffer, int64_t bytes) const {
    return {buffers[buffer].get(), size, static_cast<size_t>(bytes)};
  }

  size_t size;
  std::array<rt::Buffer, 4> buffers;
};

inline void *pointerOf(Tensor &tensor) { return tensor.next(); }
inline void *pointerOf(void *pointer) { return pointer; }

/// What runs function(desc, pointers...), each of a Tensor or fixed. The
/// runtime keeps plans by the descriptor's address.
template <typename Function, typename Call, typename... Arguments>
std::function<void()> prepareCall(Function function, const Call &call,
                                  Arguments... arguments) {
  auto desc = std::make_shared<std::vector<int64_t>>(calls::encode(call));
  return [=]() mutable { function(desc->data(), pointerOf(arguments)...); };
}

} // namespace shoal::bench

#endif // SHOAL_BENCH_CALLS_H
