// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many threads a rank computes with.

#ifndef SHOAL_LIB_RUNTIME_CPU_THREADCOUNT_H
#define SHOAL_LIB_RUNTIME_CPU_THREADCOUNT_H

#include "../Job/World.h"

#include <array>
#include <optional>
#include <span>

namespace shoal::rt {

/// The processors that a process may run on, by the system's numbers.
class CpuMask {
public:
  static constexpr int size = 8192;

  /// Those of this process; one where the system does not say it.
  static CpuMask ofProcess();

  bool has(int cpu) const { return (words[cpu / 64] >> cpu % 64) & 1; }
  void add(int cpu) { words[cpu / 64] |= uint64_t(1) << cpu % 64; }

private:
  std::array<uint64_t, size / 64> words = {};
};

/// The processors of a rank where every rank of `node` has its part of those
/// that it may run on: all of a mask that it has alone, of one that all have
/// the ranks' part. At least 1.
int shareOf(const CpuMask &mine, std::span<const CpuMask> node);

/// The threads of this rank: as many as `asked`; else as SHOAL_NUM_THREADS
/// says; else shareOf. Collective.
support::Result<int> countThreads(World &world, std::optional<int64_t> asked);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_THREADCOUNT_H
