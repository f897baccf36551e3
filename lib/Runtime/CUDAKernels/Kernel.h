// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels of the runtime are written with. One source is compiled twice:
// by nvcc for GPUs, and by the host's C++ compiler for the emulated device of
// test/emulation (see docs/internals/CUDA.md), whose KernelFunctions.h has the
// same.
//
// A kernel has one parameter, a plain struct of Parameters.h, and blocks and
// grids of one dimension; blocks are whole warps. It reaches the device through
// the functions below alone. All threads of a block must come to each barrier,
// all lanes of a warp to each shuffle.

#ifndef SHOAL_LIB_RUNTIME_CUDAKERNELS_KERNEL_H
#define SHOAL_LIB_RUNTIME_CUDAKERNELS_KERNEL_H

#include "Parameters.h"

#include <cstdint>

#ifdef __CUDACC__

#define SHOAL_DEVICE __device__ __forceinline__

/// SHOAL_KERNEL(name, Parameters) { ... uses p ... }
#define SHOAL_KERNEL(name, Parameters)                                         \
  extern "C" __global__ void __launch_bounds__(::shoal::rt::blockThreads)      \
      name(const __grid_constant__ Parameters p)

/// An array that the threads of a block share.
#define SHOAL_SHARED(type, name, count) __shared__ type name[count]

/// In front of a loop over a thread's own array, which is then in registers.
#define SHOAL_UNROLL _Pragma("unroll")

/// In front of a loop whose body is long: nvcc would repeat it.
#define SHOAL_NO_UNROLL _Pragma("unroll 1")

namespace shoal::rt {

SHOAL_DEVICE int threadInBlock() { return static_cast<int>(threadIdx.x); }
SHOAL_DEVICE int64_t blockInGrid() { return blockIdx.x; }
SHOAL_DEVICE int64_t blocksInGrid() { return gridDim.x; }
SHOAL_DEVICE void barrier() { __syncthreads(); }
SHOAL_DEVICE void warpBarrier() { __syncwarp(); }

/// The value of the lane `distance` below; the own where there is none.
template <typename T>
SHOAL_DEVICE T shuffleUp(T value, int distance) {
  return __shfl_up_sync(0xffffffffu, value, distance);
}
template <typename T>
SHOAL_DEVICE T shuffleXor(T value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}

} // namespace shoal::rt

#else

// The same for the emulated device, which compiles the kernels.
#include "KernelFunctions.h"

#endif

namespace shoal::rt {

SHOAL_DEVICE int laneInWarp() { return threadInBlock() % warpLanes; }
SHOAL_DEVICE int warpInBlock() { return threadInBlock() / warpLanes; }
SHOAL_DEVICE int64_t threadInGrid() {
  return blockInGrid() * blockThreads + threadInBlock();
}
SHOAL_DEVICE int64_t threadsInGrid() { return blocksInGrid() * blockThreads; }

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDAKERNELS_KERNEL_H
