// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which ops of a step run again so that it fits its memory.

#ifndef SHOAL_LIB_TRANSFORMS_REMATERIALIZE_CHOOSE_H
#define SHOAL_LIB_TRANSFORMS_REMATERIALIZE_CHOOSE_H

#include "Cut.h"
#include "Schedule.h"

namespace shoal::remat {

struct Choice {
  /// A flag for each op, false of views.
  std::vector<bool> repeated;
  Schedule schedule;
  /// Whether the schedule's peak keeps the limit.
  bool fits = true;
};

/// The ops that policies repeat, and of all others so many that no more than
/// `limit` bytes are held, where there is one, for the fewest operations that
/// were found; where nothing keeps the limit, the choice that holds least.
///
/// Segments go down their frontiers (see Cut.h), that step first which costs
/// the fewest operations for a byte, and a part of it at a time, until the
/// schedule of all fits; then steps that turn out not to be needed are taken
/// back, the dearest first. So for segments of several lengths, of which the
/// cheapest counts.
Choice chooseRepeated(const Graph &graph, std::optional<int64_t> limit);

} // namespace shoal::remat

#endif // SHOAL_LIB_TRANSFORMS_REMATERIALIZE_CHOOSE_H
