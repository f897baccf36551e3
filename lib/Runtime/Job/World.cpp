// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "World.h"
#include "../Program/Fatal.h"
#include "Launcher.h"
#include "RankWatch.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace shoal::rt {

static MPI_Comm communicator = MPI_COMM_NULL;

MPI_Comm worldCommunicator() {
  return communicator == MPI_COMM_NULL ? MPI_COMM_WORLD : communicator;
}

/// Adds a byte to the file where a launcher looks whether MPI has started.
static void tellStart() {
  if (const char *path = std::getenv("SHOAL_STARTED"))
    std::ofstream(path, std::ios::app) << '.';
}

void abortJob() {
  makeSureLauncherEnds();
  MPI_Abort(worldCommunicator(), 1);
}

World::World(int *argc, char ***argv) : ownsMPI(true) {
  // A rank's threads compute; the first one communicates.
  int provided = 0;
  MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided);
  tellStart();
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
  setAbortHandler(abortJob);
}

World::~World() {
  if (node != MPI_COMM_NULL)
    MPI_Comm_free(&node);
  if (ownsMPI)
    MPI_Finalize();
  else
    MPI_Comm_free(&communicator);
}

/// As long as this is there, the rank waits for all others.
static Waiting waitForAll() { return {Place::Agreement, /*id=*/-1}; }

support::Status World::agree(const support::Status &status) {
  Waiting waiting = waitForAll();
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

void World::barrier() {
  Waiting waiting = waitForAll();
  MPI_Barrier(worldCommunicator());
}

std::string World::broadcast(std::string text) {
  Waiting waiting = waitForAll();
  int length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, /*root=*/0, worldCommunicator());
  text.resize(length);
  MPI_Bcast(text.data(), length, MPI_CHAR, /*root=*/0, worldCommunicator());
  return text;
}

void World::maximum(std::vector<double> &values) {
  Waiting waiting = waitForAll();
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()),
                MPI_DOUBLE, MPI_MAX, worldCommunicator());
}

/// Calls visit(offset, bytes) for each piece of a text.
template <typename Visitor>
static void forEachPiece(uint64_t bytes, size_t pieceBytes, Visitor &&visit) {
  for (uint64_t done = 0; done < bytes; done += pieceBytes)
    visit(done, static_cast<int>(std::min<uint64_t>(pieceBytes, bytes - done)));
}

void World::gather(std::string_view text,
                   const std::function<void(std::string_view)> &consume,
                   size_t pieceBytes) {
  Waiting waiting = waitForAll();
  uint64_t length = text.size();
  std::vector<uint64_t> lengths(numRanks);
  MPI_Gather(&length, 1, MPI_UINT64_T, lengths.data(), 1, MPI_UINT64_T, 0,
             worldCommunicator());
  if (!isRoot()) {
    forEachPiece(length, pieceBytes, [&](uint64_t offset, int bytes) {
      MPI_Send(text.data() + offset, bytes, MPI_CHAR, 0, /*tag=*/0,
               worldCommunicator());
    });
    return;
  }
  consume(text);
  std::string piece;
  for (int rank = 1; rank < numRanks; ++rank)
    forEachPiece(lengths[rank], pieceBytes, [&](uint64_t, int bytes) {
      piece.resize(bytes);
      MPI_Recv(piece.data(), bytes, MPI_CHAR, rank, /*tag=*/0,
               worldCommunicator(), MPI_STATUS_IGNORE);
      consume(piece);
    });
}

/// MPI counts a message's bytes by an int.
static constexpr size_t largestPiece = size_t(1) << 28;

void World::send(const void *data, uint64_t bytes, int to) {
  Waiting waiting = waitForAll();
  forEachPiece(bytes, largestPiece, [&](uint64_t offset, int size) {
    MPI_Send(static_cast<const char *>(data) + offset, size, MPI_CHAR, to,
             /*tag=*/0, worldCommunicator());
  });
}

void World::receive(void *data, uint64_t bytes, int from) {
  Waiting waiting = waitForAll();
  forEachPiece(bytes, largestPiece, [&](uint64_t offset, int size) {
    MPI_Recv(static_cast<char *>(data) + offset, size, MPI_CHAR, from,
             /*tag=*/0, worldCommunicator(), MPI_STATUS_IGNORE);
  });
}

std::string World::gatherAll(std::string_view mine) {
  Waiting waiting = waitForAll();
  int bytes = static_cast<int>(mine.size());
  std::string all(mine.size() * numRanks, '\0');
  MPI_Allgather(mine.data(), bytes, MPI_CHAR, all.data(), bytes, MPI_CHAR,
                worldCommunicator());
  return all;
}

MPI_Comm World::nodeCommunicator() {
  if (node == MPI_COMM_NULL)
    MPI_Comm_split_type(worldCommunicator(), MPI_COMM_TYPE_SHARED, myRank,
                        MPI_INFO_NULL, &node);
  return node;
}

std::string World::gatherOnNode(std::string_view mine) {
  Waiting waiting = waitForAll();
  int count = 1, bytes = static_cast<int>(mine.size());
  MPI_Comm_size(nodeCommunicator(), &count);
  std::string all(mine.size() * count, '\0');
  MPI_Allgather(mine.data(), bytes, MPI_CHAR, all.data(), bytes, MPI_CHAR,
                node);
  return all;
}

std::vector<int> World::neighbours() {
  std::string all =
      gatherOnNode({reinterpret_cast<const char *>(&myRank), sizeof(myRank)});
  std::vector<int> ranks(all.size() / sizeof(myRank));
  std::memcpy(ranks.data(), all.data(), all.size());
  return ranks;
}

int World::ranksOnNode() { return static_cast<int>(gatherOnNode(" ").size()); }

bool launchedAsOtherRank() {
  for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
    if (const char *rank = std::getenv(name))
      return std::string_view(rank) != "0";
  return false;
}

} // namespace shoal::rt
