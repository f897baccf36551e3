// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The processes of a run and their agreement on errors.

#ifndef SHOAL_LIB_RUNTIME_JOB_WORLD_H
#define SHOAL_LIB_RUNTIME_JOB_WORLD_H

#include "shoal/Support/Result.h"

#include <cstdint>
#include <functional>
#include <mpi.h>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::rt {

/// One for the process.
class World {
public:
  /// MPI, from the construction to the end.
  World(int *argc, char ***argv);
  /// The processes of a communicator of a program that has MPI running: a
  /// duplicate. Collective.
  explicit World(MPI_Comm parent);
  ~World();
  World(const World &) = delete;
  World &operator=(const World &) = delete;

  int rank() const { return myRank; }
  int size() const { return numRanks; }
  bool isRoot() const { return myRank == 0; }

  /// Every rank calls this with what it met, and every rank gets what the
  /// lowest failing rank met.
  [[nodiscard]] support::Status agree(const support::Status &status);

  void barrier();

  /// The elementwise maximum over all ranks.
  void maximum(std::vector<double> &values);

  /// Gives the texts of all ranks, one after another, to `consume` on rank 0,
  /// in pieces of at most `pieceBytes`: MPI counts a message's bytes by an int.
  /// Collective.
  void gather(std::string_view text,
              const std::function<void(std::string_view)> &consume,
              size_t pieceBytes = size_t(1) << 28);

  /// Any number of bytes to another rank, which receives as many.
  void send(const void *data, uint64_t bytes, int to);
  void receive(void *data, uint64_t bytes, int from);

  /// What rank 0 gives. Collective.
  std::string broadcast(std::string text);

  /// What all ranks give, the same number of bytes each, one after the other.
  /// Collective.
  std::string gatherAll(std::string_view mine);

  /// How many ranks share this rank's memory.
  int ranksOnNode();

  /// Those ranks, this one among them, in order. Collective.
  std::vector<int> neighbours();

  /// What these ranks give, the same number of bytes each, one after the other.
  /// Collective.
  std::string gatherOnNode(std::string_view mine);

private:
  void setUp();
  MPI_Comm nodeCommunicator();

  bool ownsMPI;
  int myRank = 0;
  int numRanks = 1;
  /// Made when it is first asked for.
  MPI_Comm node = MPI_COMM_NULL;
};

/// The communicator of the World; MPI_COMM_WORLD where there is none.
MPI_Comm worldCommunicator();

/// MPI_Abort on it, and mpirun ends even where it hangs. Hardly returns.
void abortJob();

/// True if the launcher's environment says that this is not rank 0. Works
/// without MPI; false if nothing is known.
bool launchedAsOtherRank();

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_JOB_WORLD_H
