// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives by kind, members and size.

#ifndef SHOAL_BENCH_COLLECTIVES_H
#define SHOAL_BENCH_COLLECTIVES_H

#include "Calls.h"
#include "Stopwatch.h"
#include "shoal/Machine/Cluster.h"

namespace shoal::bench {

class Collectives {
public:
  /// Sets the meshes of the runtime up: one for each number of members that
  /// divides the ranks. All groups of a mesh communicate at once.
  Collectives(rt::World &world, Stopwatch &stopwatch, const Memory &memory);

  /// The links as they were measured.
  Level level(const Chip &chip) const;

private:
  struct Point {
    CollectiveKind kind;
    int64_t members;
    /// That the busiest device sends.
    int64_t bytes;
    const Experiment *experiment;
  };
  void add(Stopwatch &stopwatch, const Memory &memory, int64_t mesh,
           int64_t members);
  void addSize(Stopwatch &stopwatch, const Memory &memory, int64_t mesh,
               int64_t members, int64_t bytes);
  Curve curveOf(CollectiveKind kind, int64_t members) const;

  int64_t ranks;
  std::vector<int64_t> groupSizes;
  std::vector<Point> points;
};

} // namespace shoal::bench

#endif // SHOAL_BENCH_COLLECTIVES_H
