// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How ranks meet: agreement on collectives, and transfers.

#include "Error.h"
#include "Nccl.h"

#include <cstring>
#include <ctime>

namespace shoal::emulation {

size_t elementBytes(ncclDataType_t type) {
  switch (type) {
  case ncclInt8:
  case ncclUint8:
  case ncclFloat8e4m3:
  case ncclFloat8e5m2:
    return 1;
  case ncclFloat16:
  case ncclBfloat16:
    return 2;
  case ncclInt32:
  case ncclUint32:
  case ncclFloat32:
    return 4;
  case ncclInt64:
  case ncclUint64:
  case ncclFloat64:
    return 8;
  default:
    return 0;
  }
}

MPI_Datatype mpiType(ncclDataType_t type) {
  switch (elementBytes(type)) {
  case 1:
    return MPI_UINT8_T;
  case 2:
    return MPI_UINT16_T;
  case 4:
    return MPI_UINT32_T;
  default:
    return MPI_UINT64_T;
  }
}

size_t Call::bytes() const { return count * elementBytes(type); }

static const char *nameOf(ncclDataType_t type) {
  constexpr const char *names[] = {
      "int8",    "uint8",   "int32",   "uint32",   "int64",      "uint64",
      "float16", "float32", "float64", "bfloat16", "float8e4m3", "float8e5m2"};
  return type >= 0 && type < ncclNumTypes ? names[type] : "no type";
}

void waitFor(std::vector<MPI_Request> requests, const std::string &what) {
  static const double limit =
      static_cast<double>(environmentNumber("SHOAL_EMULATION_TIMEOUT", 300));
  double start = MPI_Wtime();
  for (int64_t turn = 0;; ++turn) {
    int done = 0;
    MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                MPI_STATUSES_IGNORE);
    if (done)
      return;
    if (MPI_Wtime() - start > limit)
      fail(text(what, ": after ", limit,
                " seconds not all ranks that it needs have come"));
    // Others may need this core to come.
    timespec pause = {0, turn < 100 ? 0 : 50'000};
    nanosleep(&pause, nullptr);
  }
}

//===----------------------------------------------------------------------===//
// Agreement
//===----------------------------------------------------------------------===//

namespace {

/// What ranks tell each other before they communicate.
struct Header {
  char name[32];
  int64_t count;
  int32_t type;
  int32_t reduction;

  bool operator==(const Header &) const = default;
};

Header headerOf(const Call &call) {
  Header header = {{}, static_cast<int64_t>(call.count), call.type, -1};
  std::strncpy(header.name, call.name, sizeof(header.name) - 1);
  if (call.kind == CallKind::AllReduce || call.kind == CallKind::ReduceScatter)
    header.reduction = call.reduction;
  return header;
}

std::string describe(const Header &header) {
  std::string words = text(header.name, " of ", header.count, " ",
                           nameOf(static_cast<ncclDataType_t>(header.type)));
  constexpr const char *reductions[] = {"sum", "prod", "max", "min", "avg"};
  if (header.reduction >= 0 && header.reduction < 5)
    words += text(", ", reductions[header.reduction]);
  return words;
}

int worldRank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

} // namespace

std::string describe(const Call &call) { return describe(headerOf(call)); }

void agree(const Call &call) {
  const Communicator &group = *call.communicator;
  Header own = headerOf(call);
  std::vector<Header> all(static_cast<size_t>(group.size));
  MPI_Request request;
  MPI_Iallgather(&own, sizeof(own), MPI_BYTE, all.data(), sizeof(own), MPI_BYTE,
                 group.comm, &request);
  waitFor({request},
          text(describe(own), " on rank ", worldRank(),
               " of the world, in a communicator of ", group.size, " ranks"));
  for (int rank = 0; rank < group.size; ++rank)
    if (!(all[static_cast<size_t>(rank)] == own))
      fail(text("the ranks of a communicator call differently: rank ",
                group.rank, " of ", group.size, " ", describe(own), ", rank ",
                rank, " ", describe(all[static_cast<size_t>(rank)])));
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

static std::string describeTransfer(const Call &call) {
  return text(describe(call),
              call.kind == CallKind::Send ? " to rank " : " from rank ",
              call.peer, " on rank ", call.communicator->rank, " of ",
              call.communicator->size);
}

static std::string describeAll(const std::vector<Call> &calls) {
  std::string words = describeTransfer(calls.front());
  return calls.size() == 1
             ? words
             : text(words, " and ", calls.size() - 1, " more of its group");
}

/// A header for each transfer. Sends are synchronous: they end when the
/// receiver has come, as NCCL's may.
static void agree(const std::vector<Call> &calls) {
  constexpr int tag = 0;
  std::vector<Header> headers(calls.size());
  std::vector<MPI_Request> requests(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    const Call &call = calls[i];
    headers[i] = headerOf(call);
    if (call.kind == CallKind::Send)
      MPI_Issend(&headers[i], sizeof(Header), MPI_BYTE, call.peer, tag,
                 call.communicator->comm, &requests[i]);
    else
      MPI_Irecv(&headers[i], sizeof(Header), MPI_BYTE, call.peer, tag,
                call.communicator->comm, &requests[i]);
  }
  waitFor(requests, describeAll(calls));
  for (size_t i = 0; i < calls.size(); ++i)
    if (headers[i].count != static_cast<int64_t>(calls[i].count) ||
        headers[i].type != calls[i].type)
      fail(text(describeTransfer(calls[i]), ", but what comes is ",
                describe(headers[i])));
}

void runTransfers(const std::vector<Call> &calls) {
  if (calls.empty())
    return;
  agree(calls);
  constexpr int tag = 1;
  std::vector<MPI_Request> requests(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    const Call &call = calls[i];
    auto count = static_cast<int>(call.count);
    if (call.kind == CallKind::Send)
      MPI_Isend(call.source, count, mpiType(call.type), call.peer, tag,
                call.communicator->comm, &requests[i]);
    else
      MPI_Irecv(call.target, count, mpiType(call.type), call.peer, tag,
                call.communicator->comm, &requests[i]);
  }
  waitFor(std::move(requests), describeAll(calls));
}

} // namespace shoal::emulation
