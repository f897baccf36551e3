// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "World.h"
#include "Memory.h"

#include <cstdlib>
#include <string_view>

namespace shoal::rt {

static MPI_Comm communicator = MPI_COMM_NULL;

MPI_Comm worldCommunicator() {
  return communicator == MPI_COMM_NULL ? MPI_COMM_WORLD : communicator;
}

World::World(int *argc, char ***argv) : ownsMPI(true) {
  MPI_Init(argc, argv);
  setUp();
}

World::World(MPI_Comm parent) : ownsMPI(false) {
  MPI_Comm_dup(parent, &communicator);
  // The messages of the runtime's own errors say more.
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  setUp();
}

void World::setUp() {
  MPI_Comm_rank(worldCommunicator(), &myRank);
  MPI_Comm_size(worldCommunicator(), &numRanks);
  setAbortHandler([] { MPI_Abort(worldCommunicator(), 1); });
}

World::~World() {
  if (ownsMPI)
    MPI_Finalize();
  else
    MPI_Comm_free(&communicator);
}

support::Status World::agree(const support::Status &status) {
  int mine = status ? myRank : numRanks, first = 0;
  MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, worldCommunicator());
  if (first == numRanks)
    return std::nullopt;
  std::string message;
  if (myRank == first)
    message = status->message;
  int length = static_cast<int>(message.size());
  MPI_Bcast(&length, 1, MPI_INT, first, worldCommunicator());
  message.resize(length);
  MPI_Bcast(message.data(), length, MPI_CHAR, first, worldCommunicator());
  return support::Error{message};
}

void World::barrier() { MPI_Barrier(worldCommunicator()); }

void World::maximum(std::vector<double> &values) {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()),
                MPI_DOUBLE, MPI_MAX, worldCommunicator());
}

std::string World::concatenate(const std::string &text) {
  int length = static_cast<int>(text.size());
  std::vector<int> lengths(numRanks), offsets(numRanks);
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0,
             worldCommunicator());
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
              offsets.data(), MPI_CHAR, 0, worldCommunicator());
  return all;
}

int World::ranksOnNode() {
  MPI_Comm node;
  int count = 1;
  MPI_Comm_split_type(worldCommunicator(), MPI_COMM_TYPE_SHARED, myRank,
                      MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &count);
  MPI_Comm_free(&node);
  return count;
}

bool launchedAsOtherRank() {
  for (const char *name :
       {"OworldCommunicator()_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const char *rank = std::getenv(name))
      return std::string_view(rank) != "0";
  return false;
}

} // namespace shoal::rt
