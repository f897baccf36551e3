// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The processes of a run and their agreement on errors.

#ifndef SHOAL_LIB_RUNTIME_COMMON_WORLD_H
#define SHOAL_LIB_RUNTIME_COMMON_WORLD_H

#include "shoal/Support/Result.h"

#include <cstdint>
#include <vector>

namespace shoal::rt {

/// MPI, from its construction to its end. One for the process.
class World {
public:
  World(int *argc, char ***argv);
  ~World();
  World(const World &) = delete;
  World &operator=(const World &) = delete;

  int rank() const { return myRank; }
  int size() const { return numRanks; }
  bool isRoot() const { return myRank == 0; }

  /// Every rank calls this with what it met. Returns if no rank failed.
  /// Otherwise rank 0 prints the message of the lowest failing rank and every
  /// process ends with exit code 1.
  void agree(const support::Status &status);

  void barrier();

  /// The elementwise maximum over all ranks.
  void maximum(std::vector<double> &values);

  /// The texts of all ranks one after another, on rank 0.
  std::string concatenate(const std::string &text);

  /// How many ranks share this rank's memory.
  int ranksOnNode();

private:
  int myRank = 0;
  int numRanks = 1;
};

/// True if the launcher's environment says that this is not rank 0. Works
/// without MPI; false if nothing is known.
bool launchedAsOtherRank();

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COMMON_WORLD_H
