// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This process as a device of the program's meshes, on a GPU of its own.

#ifndef SHOAL_LIB_RUNTIME_CUDA_DEVICE_H
#define SHOAL_LIB_RUNTIME_CUDA_DEVICE_H

#include "../Program/Program.h"
#include "../Program/Topology.h"
#include "Api.h"

namespace shoal::rt {

/// One for the process; set up and opened once, after loadApi.
class Device : public Topology {
public:
  static Device &get();

  /// Takes the GPU whose number is this rank's among the ranks of its machine,
  /// modulo the number of GPUs that it sees, and makes the first streams. Fails
  /// if there is no driver or ranks had to share a GPU, which they may with
  /// NCCL_MULTI_RANK_GPU_ENABLE=1, as for NCCL. Collective.
  support::Status open();

  int ordinal() const { return gpu; }
  /// All work but collectives, in the order of the program.
  cudaStream_t compute() const { return computeStream; }
  /// The collectives, those of each in the order of the program.
  const std::vector<cudaStream_t> &collectives() const {
    return collectiveStreams;
  }
  /// That of the collective with this number in the metadata; of one that has
  /// none the first.
  cudaStream_t collectives(int64_t id) const;
  /// Makes as many as the program has.
  void makeStreams(const std::vector<CollectiveInfo> &collectives);

  /// Whether a call may wait for the device to choose how it goes on. With
  /// --cuda-graph those that need not do not, which may take longer: a step
  /// that waits is no graph.
  bool mayWait() const { return waits; }
  void setMayWait(bool may) { waits = may; }

private:
  bool waits = true;
  int gpu = 0;
  cudaStream_t computeStream = nullptr;
  std::vector<cudaStream_t> collectiveStreams;
  /// By the collectives' numbers.
  std::vector<int64_t> streamNumbers;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_DEVICE_H
