// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NCCL's communicators on those of MPI. A call waits on the host until all its
// ranks have come, where NCCL would wait on the device. NCCL's law, that all
// ranks of a communicator make the same calls in the same order with the same
// counts, is checked before each call.

#ifndef SHOAL_TEST_EMULATION_NCCL_H
#define SHOAL_TEST_EMULATION_NCCL_H

#include "Streams.h"

#include <mpi.h>
#include <nccl.h>
#include <string>
#include <vector>

namespace shoal::emulation {

struct Communicator {
  MPI_Comm comm;
  int rank;
  int size;
};

Communicator *find(ncclComm_t communicator);

enum class CallKind { AllGather, AllReduce, ReduceScatter, Send, Recv };

/// A call that is to be carried out when its group ends.
struct Call {
  CallKind kind;
  const char *name;
  const void *source = nullptr;
  void *target = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclInt8;
  Communicator *communicator = nullptr;
  Stream *stream = nullptr;
  ncclRedOp_t reduction = ncclSum;
  int peer = -1;

  bool isTransfer() const {
    return kind == CallKind::Send || kind == CallKind::Recv;
  }
  size_t bytes() const;
};

/// Bytes of an element; 0 for what is no type.
size_t elementBytes(ncclDataType_t type);
/// An MPI type of as many bytes.
MPI_Datatype mpiType(ncclDataType_t type);

/// What ncclGetLastError gives.
ncclResult_t refuse(ncclResult_t status, const std::string &why);

/// Waits for requests; ends the program, with the words of `what`, when they
/// take longer than SHOAL_EMULATION_TIMEOUT seconds (300).
void waitFor(std::vector<MPI_Request> requests, const std::string &what);

/// Ends the program unless all ranks have come with the same call. Nothing but
/// the name, the count, the type and the reduction have to agree.
void agree(const Call &call);

/// "ncclAllReduce of 8 float32, sum"
std::string describe(const Call &call);

/// The work of a collective, after the ranks agreed.
void runCollective(const Call &call);

/// Sends and receives of a group, all at the same time. The ranks that they
/// name must have come with their counterparts, in the same order.
void runTransfers(const std::vector<Call> &calls);

/// Carries out a call, at once or at the end of the group.
ncclResult_t submit(Call call, ncclComm_t communicator, cudaStream_t stream);

} // namespace shoal::emulation

#endif // SHOAL_TEST_EMULATION_NCCL_H
