// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// This process as a device of the program's meshes, on a GPU of its own.

#ifndef SHOAL_LIB_RUNTIME_CUDA_DEVICE_H
#define SHOAL_LIB_RUNTIME_CUDA_DEVICE_H

#include "../Program/Topology.h"
#include "Api.h"

namespace shoal::rt {

/// One for the process; set up and opened once, after loadApi.
class Device : public Topology {
public:
  static Device &get();

  /// Takes the GPU whose number is this rank's among the ranks of its machine,
  /// modulo the number of GPUs that it sees, and makes the streams. Fails if
  /// there is no driver or ranks had to share a GPU, which they may with
  /// NCCL_MULTI_RANK_GPU_ENABLE=1, as for NCCL. Collective.
  support::Status open();

  int ordinal() const { return gpu; }
  /// All work but collectives, in the order of the program.
  cudaStream_t compute() const { return computeStream; }
  /// Collectives that have one device, which copies.
  cudaStream_t copies() const { return copyStream; }

  /// Whether a call may wait for the device to choose how it goes on. With
  /// --cuda-graph those that need not do not, which may take longer: a step
  /// that waits is no graph.
  bool mayWait() const { return waits; }
  void setMayWait(bool may) { waits = may; }

private:
  bool waits = true;
  int gpu = 0;
  cudaStream_t computeStream = nullptr;
  cudaStream_t copyStream = nullptr;
};

/// One that nothing waits for by itself.
cudaStream_t makeStream();

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_DEVICE_H
