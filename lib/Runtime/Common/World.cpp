// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "World.h"
#include "Memory.h"

#include <cstdio>
#include <cstdlib>
#include <mpi.h>
#include <string_view>

namespace shoal::rt {

World::World(int *argc, char ***argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &myRank);
  MPI_Comm_size(MPI_COMM_WORLD, &numRanks);
  setAbortHandler([] { MPI_Abort(MPI_COMM_WORLD, 1); });
}

World::~World() { MPI_Finalize(); }

void World::agree(const support::Status &status) {
  int mine = status ? myRank : numRanks, first = 0;
  MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first == numRanks)
    return;
  std::string message;
  if (myRank == first)
    message = status->message;
  if (first != 0 && myRank == first)
    MPI_Send(message.data(), static_cast<int>(message.size()), MPI_CHAR, 0, 0,
             MPI_COMM_WORLD);
  if (first != 0 && myRank == 0) {
    MPI_Status probe;
    int length = 0;
    MPI_Probe(first, 0, MPI_COMM_WORLD, &probe);
    MPI_Get_count(&probe, MPI_CHAR, &length);
    message.resize(length);
    MPI_Recv(message.data(), length, MPI_CHAR, first, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  }
  if (myRank == 0) {
    std::fprintf(stderr, "error: %s\n", message.c_str());
    std::fflush(stderr);
  }
  // A launcher may end everyone once the first leaves: rank 0 speaks first.
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  std::exit(1);
}

void World::barrier() { MPI_Barrier(MPI_COMM_WORLD); }

void World::maximum(std::vector<double> &values) {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()),
                MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

std::string World::concatenate(const std::string &text) {
  int length = static_cast<int>(text.size());
  std::vector<int> lengths(numRanks), offsets(numRanks);
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0,
             MPI_COMM_WORLD);
  std::string all;
  if (isRoot()) {
    int total = 0;
    for (int rank = 0; rank < numRanks; ++rank) {
      offsets[rank] = total;
      total += lengths[rank];
    }
    all.resize(total);
  }
  MPI_Gatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(),
              offsets.data(), MPI_CHAR, 0, MPI_COMM_WORLD);
  return all;
}

int World::ranksOnNode() {
  MPI_Comm node;
  int count = 1;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, myRank,
                      MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &count);
  MPI_Comm_free(&node);
  return count;
}

bool launchedAsOtherRank() {
  for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const char *rank = std::getenv(name))
      return std::string_view(rank) != "0";
  return false;
}

} // namespace shoal::rt
