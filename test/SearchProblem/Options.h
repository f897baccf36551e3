// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_TEST_SEARCHPROBLEM_OPTIONS_H
#define SHOAL_TEST_SEARCHPROBLEM_OPTIONS_H

#include "shoal/Machine/Cluster.h"
#include "shoal/Sharding/Assignment.h"
#include <optional>
#include <string>
#include <vector>

namespace shoal {

/// What the command line asks for.
struct SearchProblemOptions {
  /// Files of programs.
  std::vector<std::string> inputs;
  /// As many programs that the unit tests draw, the first of this seed; ops of
  /// each that compute.
  unsigned numRandom = 0, seed = 0, randomOps = 3;
  /// Whether all plans of those are priced, too.
  bool enumerate = false;
  /// Sizes of the axes of a mesh in place of the program's; empty: its own.
  std::vector<int64_t> mesh;
  /// Prices are nanoseconds on it.
  std::optional<Cluster> cluster;
  /// Operations that take as long as a byte, where there is no cluster; 0: the
  /// CPU's.
  double flopsPerByte = 0;
  /// Of what a device holds, as a share of what it holds by the plan without a
  /// limit; the search is the planner's then.
  double memoryShare = 0;
  /// Also finds a lower bound.
  bool certify = false;
  /// Says what is found, not among what.
  bool costsAlone = false;
  /// Sources of moves and starts that the search goes without.
  std::vector<std::string> without;
};

/// Exits where the line says nothing that can be done.
SearchProblemOptions parseSearchProblemOptions(int argc, char **argv);

} // namespace shoal

#endif // SHOAL_TEST_SEARCHPROBLEM_OPTIONS_H
