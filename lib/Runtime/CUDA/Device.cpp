// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Device.h"

#include <cstdlib>
#include <mpi.h>
#include <string_view>

namespace shoal::rt {

using support::Error;
using support::Status;

Device &Device::get() {
  static Device device;
  return device;
}

/// Of this process among those of its machine.
static int rankOnMachine(int &numRanks) {
  MPI_Comm machine;
  int rank = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                      &machine);
  MPI_Comm_rank(machine, &rank);
  MPI_Comm_size(machine, &numRanks);
  MPI_Comm_free(&machine);
  return rank;
}

static bool mayShare() {
  const char *value = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return value && std::string_view(value) == "1";
}

Status Device::open() {
  int numRanks = 0, numGpus = 0, rank = rankOnMachine(numRanks);
  cudaError_t status = api.cudaGetDeviceCount(&numGpus);
  if (status != cudaSuccess || numGpus == 0)
    return Error{std::string("no GPU can be used: ") +
                 (status == cudaSuccess ? "there is none"
                                        : api.cudaGetErrorString(status))};
  if (numGpus < numRanks && !mayShare())
    return Error{"expected a GPU for each of the " + std::to_string(numRanks) +
                 " processes on a machine, which has " +
                 std::to_string(numGpus)};
  gpu = rank % numGpus;
  status = api.cudaSetDevice(gpu);
  if (status != cudaSuccess)
    return Error{"GPU " + std::to_string(gpu) +
                 " cannot be used: " + api.cudaGetErrorString(status)};
  for (cudaStream_t *stream : {&computeStream, &collectiveStream})
    check(api.cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking),
          "cudaStreamCreateWithFlags");
  return std::nullopt;
}

} // namespace shoal::rt
