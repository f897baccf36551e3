// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scratch of a call, as many bytes as the compiler would provide, between
// guards that must be untouched in the end.

#ifndef SHOAL_TEST_RUNTIME_TESTSCRATCH_H
#define SHOAL_TEST_RUNTIME_TESTSCRATCH_H

#include "Memory/Memory.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

class TestScratch {
public:
  template <typename Call>
    requires(!std::is_integral_v<Call>)
  explicit TestScratch(const Call &call)
      : TestScratch(scratchBytes(call, onDevice)) {}

  explicit TestScratch(int64_t bytes)
      : bytes(bytes), memory(shoal::rt::allocate(bytes + 2 * guard)) {
    std::memset(memory.get(), pattern, bytes + 2 * guard);
  }

  ~TestScratch() {
    auto isUntouched = [](char byte) { return byte == pattern; };
    const char *begin = memory.get(), *behind = begin + guard + bytes;
    if (std::all_of(begin, begin + guard, isUntouched) &&
        std::all_of(behind, behind + guard, isUntouched))
      return;
    std::fprintf(stderr, "a call wrote outside of its scratch of %lld bytes\n",
                 static_cast<long long>(bytes));
    std::abort();
  }

  /// Null where the call needs none.
  void *data() { return bytes == 0 ? nullptr : memory.get() + guard; }

private:
#ifdef SHOAL_TEST_EMULATION
  static constexpr bool onDevice = true;
#else
  static constexpr bool onDevice = false;
#endif
  static constexpr int64_t guard = 4096;
  static constexpr char pattern = 0x5A;

  int64_t bytes;
  shoal::rt::Buffer memory;
};

#endif // SHOAL_TEST_RUNTIME_TESTSCRATCH_H
