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

/// Memory that all calls share: they are measured one by one.
class Memory {
public:
  /// Touched, so that no call waits for the system.
  explicit Memory(size_t bytesOfEach);

  void *left() const { return buffers[0].get(); }
  void *right() const { return buffers[1].get(); }
  void *result() const { return buffers[2].get(); }
  void *scratch() const { return buffers[3].get(); }
  /// Of each.
  size_t bytes() const { return size; }

private:
  size_t size;
  std::array<rt::Buffer, 4> buffers;
};

/// What runs function(desc, pointers...). The runtime keeps plans by the
/// descriptor's address.
template <typename Call, typename... Parameters, typename... Pointers>
std::function<void()> prepareCall(void (*function)(const int64_t *,
                                                   Parameters...),
                                  const Call &call, Pointers... pointers) {
  auto desc = std::make_shared<std::vector<int64_t>>(calls::encode(call));
  return [=] { function(desc->data(), pointers...); };
}

} // namespace shoal::bench

#endif // SHOAL_BENCH_CALLS_H
