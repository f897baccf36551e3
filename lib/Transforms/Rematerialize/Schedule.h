// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The order in which a step runs whose backward pass computes values again,
// and what is held in it.

#ifndef SHOAL_LIB_TRANSFORMS_REMATERIALIZE_SCHEDULE_H
#define SHOAL_LIB_TRANSFORMS_REMATERIALIZE_SCHEDULE_H

#include "Graph.h"

namespace shoal::remat {

struct Step {
  unsigned op;
  bool isRepeat = false;

  bool operator==(const Step &) const = default;
};

/// A value as one of its ops made it.
struct Instance {
  unsigned value;
  bool isRepeat;

  bool operator==(const Instance &) const = default;
};

struct Schedule {
  /// Every op once in program order, and repeats among them: each in front of
  /// the first backward op that reads it, as late as can be.
  std::vector<Step> steps;
  /// The most that is held in a step, and the step. Arguments do not count;
  /// results of the program, which its last op reads, count from where they are
  /// made.
  int64_t peakBytes = 0;
  size_t peakStep = 0;
  /// Of all repeats, in scalar operations.
  double repeatedCost = 0;
};

/// `repeated` has a flag for each op. Of views it says nothing: a view is made
/// again where what it is a view of is.
Schedule makeSchedule(const Graph &graph, const std::vector<bool> &repeated);

/// The values that are held at the peak, the largest first.
std::vector<Instance> listHeldAtPeak(const Graph &graph,
                                     const Schedule &schedule);

} // namespace shoal::remat

#endif // SHOAL_LIB_TRANSFORMS_REMATERIALIZE_SCHEDULE_H
