// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Collective.h"
#include "../Program/Fatal.h"
#include "Combine.h"
#include "Reductions.h"
#include "shoal/Calls/CollectiveScratch.h"
#include "shoal/Calls/Sizes.h"
#include "shoal/Support/Threshold.h"

#include <limits>

namespace shoal::rt {

namespace {

/// `bytes` bytes, which may exceed an int, as MPI counts them: bytes as a rule,
/// as a type takes longer to make than a short message. The next block begins
/// `stride` bytes behind.
class BlockType {
public:
  BlockType(int64_t bytes, int64_t stride) {
    if (stride == bytes && bytes <= std::numeric_limits<int>::max()) {
      number = static_cast<int>(bytes);
      return;
    }
    type = makeDense(bytes);
    if (stride != bytes) {
      MPI_Datatype dense = type;
      MPI_Type_create_resized(dense, /*lb=*/0, /*extent=*/stride, &type);
      MPI_Type_free(&dense);
    }
    check(MPI_Type_commit(&type), "MPI_Type_commit");
  }
  explicit BlockType(int64_t bytes) : BlockType(bytes, /*stride=*/bytes) {}
  ~BlockType() {
    if (type != MPI_BYTE)
      MPI_Type_free(&type);
  }
  BlockType(const BlockType &) = delete;
  BlockType &operator=(const BlockType &) = delete;

  /// How many of the type are a block.
  int count() const { return number; }
  operator MPI_Datatype() const { return type; }

private:
  static MPI_Datatype makeDense(int64_t bytes) {
    constexpr int64_t chunk = int64_t(1) << 30;
    MPI_Datatype one, chunks, rest, both;
    MPI_Type_contiguous(static_cast<int>(bytes % chunk), MPI_BYTE, &rest);
    if (bytes < chunk)
      return rest;
    MPI_Type_contiguous(static_cast<int>(chunk), MPI_BYTE, &one);
    MPI_Type_contiguous(static_cast<int>(bytes / chunk), one, &chunks);
    int lengths[] = {1, 1};
    MPI_Aint offsets[] = {0, bytes / chunk * chunk};
    MPI_Datatype parts[] = {chunks, rest};
    MPI_Type_create_struct(2, lengths, offsets, parts, &both);
    MPI_Type_free(&one);
    MPI_Type_free(&chunks);
    MPI_Type_free(&rest);
    return both;
  }

  int number = 1;
  MPI_Datatype type = MPI_BYTE;
};

} // namespace

static MPI_Comm groupOf(const CollectiveStart &start) {
  if (!start.communicates)
    return MPI_COMM_NULL;
  return start.axes ? Device::get().group(start.mesh, *start.axes)
                    : worldCommunicator();
}

Collective::Collective(const CollectiveStart &start)
    : activity(start.activity), id(start.id),
      timed(start.activity, start.id, start.bytes),
      waiting(placeOf(start.activity), start.id, start.communicates),
      group(groupOf(start)) {}

void Collective::fail(const std::string &text) const {
  fatal(RankWatch::get().describe(placeOf(activity), id) + ", rank " +
        std::to_string(topology().rank()) + ": " + text);
}

void Collective::swapPieces(int64_t bytes, int64_t stride, const char *from,
                            char *to) const {
  BlockType sent(bytes, stride), received(bytes);
  check(MPI_Alltoall(from, sent.count(), sent, to, received.count(), received,
                     group),
        "MPI_Alltoall");
}

void Collective::gatherPieces(int64_t bytes, const char *from, char *to) const {
  BlockType piece(bytes);
  check(MPI_Allgather(from, piece.count(), piece, to, piece.count(), piece,
                      group),
        "MPI_Allgather");
}

/// One for all: messages between two devices do not overtake one another.
static constexpr int tag = 1;

void Collective::receive(char *to, int64_t bytes, int64_t rank) {
  if (bytes == 0)
    return;
  BlockType block(bytes);
  check(MPI_Irecv(to, block.count(), block, static_cast<int>(rank), tag, group,
                  &requests.emplace_back()),
        "MPI_Irecv");
}

void Collective::send(const char *from, int64_t bytes, int64_t rank) {
  if (bytes == 0)
    return;
  BlockType block(bytes);
  check(MPI_Isend(from, block.count(), block, static_cast<int>(rank), tag,
                  group, &requests.emplace_back()),
        "MPI_Isend");
}

void Collective::waitForMessages() {
  check(MPI_Waitall(static_cast<int>(requests.size()), requests.data(),
                    MPI_STATUSES_IGNORE),
        "MPI_Waitall");
  requests.clear();
}

void Collective::allReduce(ElementType type, Kind kind, int64_t count,
                           const char *from, char *to, char *terms) const {
  int p = 0;
  check(MPI_Comm_size(group, &p), "MPI_Comm_size");
  if (!calls::mpiReduces(type, kind, p))
    return reduceByParts(type, kind, count, from, to, terms);
  Reduction reduction = reductionFor(type, kind);
  const void *own = from == to ? MPI_IN_PLACE : from;
  check(MPI_Allreduce(own, to, static_cast<int>(count), reduction.type,
                      reduction.op, group),
        "MPI_Allreduce");
}

namespace {
/// Bytes that each rank sends or gets, and where, as MPI counts them.
struct RankBlocks {
  std::vector<int> sizes, offsets;
  void add(int64_t size, int64_t offset) {
    sizes.push_back(static_cast<int>(size));
    offsets.push_back(static_cast<int>(offset));
  }
};
} // namespace

/// Each rank gets its part of the elements from all, the last ones a short one
/// or none, and combines them in the order of ranks; with these all are sent
/// the same bits.
void Collective::reduceByParts(ElementType type, Kind kind, int64_t count,
                               const char *from, char *to, char *terms) const {
  int p = 0, index = 0;
  check(MPI_Comm_size(group, &p), "MPI_Comm_size");
  check(MPI_Comm_rank(group, &index), "MPI_Comm_rank");
  int64_t width = bytesOf(type, {}), part = ceilDiv(count, int64_t(p));
  auto beginOf = [&](int64_t rank) { return std::min(rank * part, count); };
  int64_t mine = beginOf(index + 1) - beginOf(index);
  RankBlocks parts, copies;
  for (int64_t rank = 0; rank < p; ++rank) {
    parts.add((beginOf(rank + 1) - beginOf(rank)) * width,
              beginOf(rank) * width);
    copies.add(mine * width, rank * mine * width);
  }
  check(MPI_Alltoallv(from, parts.sizes.data(), parts.offsets.data(), MPI_BYTE,
                      terms, copies.sizes.data(), copies.offsets.data(),
                      MPI_BYTE, group),
        "MPI_Alltoallv");
  combine(type, kind, mine, p, terms, to + parts.offsets[index]);
  check(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to,
                       parts.sizes.data(), parts.offsets.data(), MPI_BYTE,
                       group),
        "MPI_Allgatherv");
}

/// Below, MPI may send pieces of many ranks in fewer messages than there are.
static const support::Threshold
    leastMessage("bytes of a reduced piece that is sent for itself", 256);

/// Open MPI's MPI_Reduce_scatter_block takes two to three times as long for
/// long messages, and a buffer of their size. This rank's own terms are read
/// where they lie.
void Collective::reducePieces(ElementType type, Kind kind, int64_t count,
                              int64_t stride, const char *from, char *to,
                              char *terms) {
  int p = 0, index = 0;
  check(MPI_Comm_size(group, &p), "MPI_Comm_size");
  int64_t bytes = bytesOf(type, {&count, 1});
  if (!leastMessage.isReachedBy(bytes)) {
    swapPieces(bytes, stride, from, terms);
    return combine(type, kind, count, p, terms, to);
  }
  check(MPI_Comm_rank(group, &index), "MPI_Comm_rank");
  std::vector<const char *> arrays(p);
  arrays[index] = from + index * stride;
  // In turns, so that no rank is everybody's first.
  for (int step = 1; step < p; ++step) {
    int source = (index + p - step) % p, target = (index + step) % p;
    char *place = terms + source * bytes;
    arrays[source] = place;
    receive(place, bytes, source);
    send(from + target * stride, bytes, target);
  }
  waitForMessages();
  combine(type, kind, count, arrays, to);
}

} // namespace shoal::rt
