// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is no product: bytes of memory, scalar operations, rows by index, and
// the start of a kernel.

#ifndef SHOAL_BENCH_KERNELS_H
#define SHOAL_BENCH_KERNELS_H

#include "Calls.h"
#include "Stopwatch.h"
#include "shoal/Machine/Cluster.h"

namespace shoal::bench {

class Kernels {
public:
  Kernels(Stopwatch &stopwatch, const Memory &memory);

  void fit(Chip &chip) const;

private:
  /// Bytes that a sum of two arrays reads and writes.
  std::vector<std::pair<int64_t, const Experiment *>> sums;
  const Experiment *operations, *rows;
};

} // namespace shoal::bench

#endif // SHOAL_BENCH_KERNELS_H
