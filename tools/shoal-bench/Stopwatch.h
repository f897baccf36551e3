// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How long a piece of work takes where all ranks do it at once, as the devices
// of a program do.

#ifndef SHOAL_BENCH_STOPWATCH_H
#define SHOAL_BENCH_STOPWATCH_H

#include "Job/World.h"

#include <deque>
#include <functional>
#include <limits>

namespace shoal::bench {

/// Work, and the least that one run of it took.
struct Experiment {
  std::function<void()> run;
  double seconds = std::numeric_limits<double>::infinity();
  /// Of one batch, 0 before the first, and batches of a pass.
  int64_t runs = 0, batches = 0;
};

/// All ranks add the same experiments in the same order.
class Stopwatch {
public:
  /// An experiment takes about so long in a pass.
  Stopwatch(rt::World &world, double seconds);

  /// The experiment stays where it is.
  Experiment &add(std::function<void()> run);

  /// Measures all of them, and keeps what is less than before: passes far apart
  /// in time do not meet the same disturbance. Collective.
  void pass();

private:
  double secondsOf(Experiment &experiment);
  void choose(Experiment &experiment);

  rt::World &world;
  double seconds;
  /// Whether each rank of this node has a core of its own.
  bool haveCores;
  std::deque<Experiment> experiments;
};

} // namespace shoal::bench

#endif // SHOAL_BENCH_STOPWATCH_H
