// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Fuzz/Choices.h"

using namespace shoal::fuzz;

uint64_t shoal::fuzz::mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

uint32_t Choices::below(uint32_t n) {
  uint32_t value = 0;
  if (!isReplay)
    value = mix(state += 0x9e3779b97f4a7c15) % n;
  else if (drawn.size() < replay.size())
    value = std::min(replay[drawn.size()], n - 1);
  drawn.push_back(value);
  return value;
}
