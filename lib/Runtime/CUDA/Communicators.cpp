// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Communicators.h"
#include "../Job/World.h"
#include "../Program/Fatal.h"
#include "Device.h"
#include "Timeline.h"
#include "Watchdog.h"

#include <cstdlib>
#include <mpi.h>
#include <numeric>

namespace shoal::rt {

std::string Group::describe() const {
  std::string text;
  for (int64_t rank : ranks)
    text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

/// Of a communicator that is not made.
static std::string describeMissing(const Group &group) {
  return "NCCL does not connect rank " + std::to_string(Device::get().rank()) +
         " with the ranks " + group.describe();
}

Communicators &Communicators::get() {
  static auto *communicators = new Communicators;
  return *communicators;
}

/// Where kernels of two communicators run at once, each may wait for a device
/// on which the other holds the place: NCCL has to launch them in one order
/// everywhere, which the program's is (user guide, "Using multiple NCCL
/// communicators concurrently"; NCCL 2.26). Who has set it knows better.
Communicators::Communicators() {
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", /*overwrite=*/0);
}

const Group &Communicators::world() {
  auto [entry, fresh] = groups.try_emplace(Key());
  Group &group = entry->second;
  if (!fresh)
    return group;
  int rank = 0, size = 1;
  MPI_Comm_rank(worldCommunicator(), &rank);
  MPI_Comm_size(worldCommunicator(), &size);
  group.ranks.resize(size);
  std::iota(group.ranks.begin(), group.ranks.end(), 0);
  WatchedCall watched([&group] { return describeMissing(group); });
  ncclUniqueId id;
  if (rank == 0)
    check(api.ncclGetUniqueId(&id), "ncclGetUniqueId");
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, worldCommunicator());
  check(api.ncclCommInitRank(&group.communicator, size, id, rank),
        "ncclCommInitRank");
  return group;
}

const Group &Communicators::group(int64_t mesh, const Axes &axes) {
  Key key = {mesh};
  for (const SubAxis &axis : axes)
    key.insert(key.end(), {axis.axis, axis.pre, axis.size});
  auto [entry, fresh] = groups.try_emplace(std::move(key));
  Group &group = entry->second;
  if (!fresh)
    return group;
  const Device &device = Device::get();
  int64_t base = device.mesh(mesh).groupBase(device.position(mesh), axes);
  ncclComm_t parent = world().communicator;
  // A communicator must be idle while it is split.
  for (cudaStream_t stream : device.collectives())
    Timeline::get().finish(stream);
  group.ranks = device.groupOver(mesh, axes);
  WatchedCall watched([&group] { return describeMissing(group); });
  check(api.ncclCommSplit(parent, static_cast<int>(base),
                          static_cast<int>(device.indexOver(mesh, axes)),
                          &group.communicator, /*config=*/nullptr),
        "ncclCommSplit");
  return group;
}

void Communicators::checkErrors() {
  for (auto &[key, group] : groups) {
    ncclResult_t error = ncclSuccess;
    if (!group.communicator) // being made
      continue;
    check(api.ncclCommGetAsyncError(group.communicator, &error),
          "ncclCommGetAsyncError");
    if (error == ncclSuccess || error == ncclInProgress)
      continue;
    std::string text = "NCCL failed on rank " +
                       std::to_string(Device::get().rank()) + ": " +
                       api.ncclGetErrorString(error);
    const char *detail = api.ncclGetLastError(group.communicator);
    if (detail && *detail)
      text += std::string(", ") + detail;
    fatal(text, abort);
  }
}

void Communicators::abort() {
  // NCCL waits here for transfers to give up, which a broken device may not.
  WatchedCall watched([] { return "NCCL does not give up"; });
  for (auto &[key, group] : get().groups)
    if (group.communicator)
      api.ncclCommAbort(group.communicator);
}

} // namespace shoal::rt
