// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Device.h"
#include "../Job/World.h"

#include <array>
#include <cstdlib>
#include <mpi.h>
#include <set>
#include <string_view>

namespace shoal::rt {

using support::Error;
using support::Status;

Device &Device::get() {
  static Device device;
  return device;
}

namespace {

/// Of a GPU in its machine: PCI domain, bus, device.
using Place = std::array<int, 3>;

/// The processes of this machine.
class Machine {
public:
  Machine() {
    MPI_Comm_split_type(worldCommunicator(), MPI_COMM_TYPE_SHARED, 0,
                        MPI_INFO_NULL, &processes);
    MPI_Comm_rank(processes, &rank);
    MPI_Comm_size(processes, &size);
  }
  ~Machine() { MPI_Comm_free(&processes); }
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;

  /// How many different ones all processes have.
  size_t countDistinct(Place mine) const {
    std::vector<Place> all(size);
    constexpr int words = std::tuple_size_v<Place>;
    MPI_Allgather(mine.data(), words, MPI_INT, all.data(), words, MPI_INT,
                  processes);
    return std::set<Place>(all.begin(), all.end()).size();
  }

  int rank = 0;
  int size = 1;

private:
  MPI_Comm processes;
};
} // namespace

static bool mayShare() {
  const char *value = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return value && std::string_view(value) == "1";
}

/// A launcher may show each process all GPUs of its machine, or its own alone.
static Status choose(int rankOnMachine, int &gpu, Place &place) {
  int count = 0;
  cudaError_t status = api.cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0)
    return Error{std::string("no GPU can be used: ") +
                 (status == cudaSuccess ? "there is none"
                                        : api.cudaGetErrorString(status))};
  gpu = rankOnMachine % count;
  constexpr cudaDeviceAttr attributes[] = {
      cudaDevAttrPciDomainId, cudaDevAttrPciBusId, cudaDevAttrPciDeviceId};
  status = api.cudaSetDevice(gpu);
  for (size_t i = 0; i < place.size() && status == cudaSuccess; ++i)
    status = api.cudaDeviceGetAttribute(&place[i], attributes[i], gpu);
  if (status != cudaSuccess)
    return Error{"GPU " + std::to_string(gpu) +
                 " cannot be used: " + api.cudaGetErrorString(status)};
  return std::nullopt;
}

static cudaStream_t makeStream() {
  cudaStream_t stream = nullptr;
  check(api.cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
        "cudaStreamCreateWithFlags");
  return stream;
}

Status Device::open() {
  Machine machine;
  Place place = {-1, -1, -1};
  Status failed = choose(machine.rank, gpu, place);
  size_t numGpus = machine.countDistinct(place);
  if (failed)
    return failed;
  if (numGpus < static_cast<size_t>(machine.size) && !mayShare())
    return Error{
        "expected a GPU for each of the " + std::to_string(machine.size) +
        " processes on a machine, but they see " + std::to_string(numGpus)};
  computeStream = makeStream();
  collectiveStreams = {makeStream()};
  return std::nullopt;
}

void Device::makeStreams(const std::vector<CollectiveInfo> &collectives) {
  int64_t most = 0;
  streamNumbers.clear();
  for (const CollectiveInfo &collective : collectives) {
    streamNumbers.push_back(collective.stream);
    most = std::max(most, collective.stream);
  }
  while (std::ssize(collectiveStreams) <= most)
    collectiveStreams.push_back(makeStream());
}

cudaStream_t Device::collectives(int64_t id) const {
  bool isKnown = id >= 0 && id < std::ssize(streamNumbers);
  return collectiveStreams[isKnown ? streamNumbers[id] : 0];
}

} // namespace shoal::rt
