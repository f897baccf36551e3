// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Nccl.h"
#include "Error.h"
#include "Faults.h"

#include <cstring>
#include <random>
#include <unordered_set>

using namespace shoal::emulation;

static std::unordered_set<ncclComm_t> communicators;
static std::string lastError;

namespace shoal::emulation {

Communicator *find(ncclComm_t communicator) {
  return communicators.contains(communicator)
             ? reinterpret_cast<Communicator *>(communicator)
             : nullptr;
}

ncclResult_t refuse(ncclResult_t status, const std::string &why) {
  lastError = why;
  return status;
}

} // namespace shoal::emulation

static ncclComm_t adopt(MPI_Comm comm) {
  auto *communicator = new Communicator{comm, 0, 0};
  // Errors of size are reported by the emulator, not by MPI.
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &communicator->rank);
  MPI_Comm_size(comm, &communicator->size);
  auto *handle = reinterpret_cast<ncclComm_t>(communicator);
  communicators.insert(handle);
  return handle;
}

static bool mpiRuns() {
  int started = 0, ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  return started && !ended;
}

static void checkSameId(MPI_Comm comm, const ncclUniqueId &id) {
  ncclUniqueId first = id;
  MPI_Bcast(&first, sizeof(first), MPI_BYTE, 0, comm);
  if (std::memcmp(&first, &id, sizeof(id)) != 0)
    fail("ncclCommInitRank: this rank's unique id is not that of rank 0");
}

extern "C" {

const char *ncclGetErrorString(ncclResult_t result) {
  switch (result) {
  case ncclSuccess:
    return "no error";
  case ncclUnhandledCudaError:
    return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
  case ncclSystemError:
    return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
  case ncclInternalError:
    return "internal error - please report this issue to the NCCL developers";
  case ncclInvalidArgument:
    return "invalid argument (run with NCCL_DEBUG=WARN for details)";
  case ncclInvalidUsage:
    return "invalid usage (run with NCCL_DEBUG=WARN for details)";
  case ncclRemoteError:
    return "remote process exited or there was a network error";
  case ncclInProgress:
    return "NCCL operation in progress";
  default:
    return "unknown result code";
  }
}

const char *ncclGetLastError(ncclComm_t) { return lastError.c_str(); }

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  if (int failure = injectedFailure(__func__, ncclSystemError))
    return static_cast<ncclResult_t>(failure);
  if (!id)
    return refuse(ncclInvalidArgument, "ncclGetUniqueId: no id");
  std::random_device random;
  for (char &byte : id->internal)
    byte = static_cast<char>(random());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t *communicator, int ranks,
                              ncclUniqueId id, int rank) {
  if (int failure = injectedFailure(__func__, ncclInternalError))
    return static_cast<ncclResult_t>(failure);
  if (!mpiRuns())
    return refuse(ncclInvalidUsage,
                  "ncclCommInitRank: the emulator needs MPI to be initialized");
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!communicator || rank < 0 || rank >= ranks || ranks != size)
    return refuse(ncclInvalidArgument,
                  text("ncclCommInitRank: rank ", rank, " of ", ranks,
                       ", but MPI has ", size, " ranks"));
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, /*color=*/0, /*key=*/rank, &comm);
  checkSameId(comm, id);
  *communicator = adopt(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommSplit(ncclComm_t parent, int color, int key,
                           ncclComm_t *communicator, ncclConfig_t *config) {
  if (int failure = injectedFailure(__func__, ncclInternalError))
    return static_cast<ncclResult_t>(failure);
  Communicator *found = find(parent);
  if (!found || !communicator || (color < 0 && color != NCCL_SPLIT_NOCOLOR))
    return refuse(ncclInvalidArgument, text("ncclCommSplit: color ", color));
  Call call{CallKind::AllGather, __func__};
  call.communicator = found;
  agree(call);
  MPI_Comm comm;
  MPI_Comm_split(found->comm, color < 0 ? MPI_UNDEFINED : color, key, &comm);
  *communicator = comm == MPI_COMM_NULL ? nullptr : adopt(comm);
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  if (int failure = injectedFailure(__func__, ncclInternalError))
    return static_cast<ncclResult_t>(failure);
  Communicator *found = find(communicator);
  if (!found)
    return refuse(ncclInvalidArgument, "ncclCommDestroy: no communicator");
  if (mpiRuns())
    MPI_Comm_free(&found->comm);
  communicators.erase(communicator);
  delete found;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  if (int failure = injectedFailure(__func__, ncclInternalError))
    return static_cast<ncclResult_t>(failure);
  Communicator *found = find(communicator);
  if (!found)
    return refuse(ncclInvalidArgument, "ncclCommAbort: no communicator");
  // Other ranks may never come: MPI's communicator stays.
  communicators.erase(communicator);
  delete found;
  return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator,
                                   ncclResult_t *error) {
  if (!find(communicator) || !error)
    return refuse(ncclInvalidArgument, "ncclCommGetAsyncError");
  *error =
      static_cast<ncclResult_t>(injectedFailure(__func__, ncclRemoteError));
  return ncclSuccess;
}

ncclResult_t ncclAllGather(const void *source, void *target, size_t count,
                           ncclDataType_t type, ncclComm_t communicator,
                           cudaStream_t stream) {
  if (int failure = injectedFailure(__func__, ncclInternalError))
    return static_cast<ncclResult_t>(failure);
  Call call{CallKind::AllGather, __func__, source, target, count, type};
  return submit(call, communicator, stream);
}

ncclResult_t ncclAllReduce(const void *source, void *target, size_t count,
                           ncclDataType_t type, ncclRedOp_t reduction,
                           ncclComm_t communicator, cudaStream_t stream) {
  if (int failure = injectedFailure(__func__, ncclInternalError))
    return static_cast<ncclResult_t>(failure);
  Call call{CallKind::AllReduce, __func__, source, target, count, type};
  call.reduction = reduction;
  return submit(call, communicator, stream);
}

ncclResult_t ncclReduceScatter(const void *source, void *target, size_t count,
                               ncclDataType_t type, ncclRedOp_t reduction,
                               ncclComm_t communicator, cudaStream_t stream) {
  if (int failure = injectedFailure(__func__, ncclInternalError))
    return static_cast<ncclResult_t>(failure);
  Call call{CallKind::ReduceScatter, __func__, source, target, count, type};
  call.reduction = reduction;
  return submit(call, communicator, stream);
}

ncclResult_t ncclSend(const void *source, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t communicator, cudaStream_t stream) {
  if (int failure = injectedFailure(__func__, ncclInternalError))
    return static_cast<ncclResult_t>(failure);
  Call call{CallKind::Send, __func__, source, nullptr, count, type};
  call.peer = peer;
  return submit(call, communicator, stream);
}

ncclResult_t ncclRecv(void *target, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  if (int failure = injectedFailure(__func__, ncclInternalError))
    return static_cast<ncclResult_t>(failure);
  Call call{CallKind::Recv, __func__, nullptr, target, count, type};
  call.peer = peer;
  return submit(call, communicator, stream);
}
} // extern "C"
