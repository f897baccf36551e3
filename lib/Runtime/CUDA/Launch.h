// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place where kernels are enqueued.

#ifndef SHOAL_LIB_RUNTIME_CUDA_LAUNCH_H
#define SHOAL_LIB_RUNTIME_CUDA_LAUNCH_H

#include "Api.h"

#include <span>

namespace shoal::rt {

/// Bytes that a kernel touches, no less and, within what strides can say, no
/// more.
struct Touched {
  const void *pointer;
  int64_t bytes;
  Access access;
};

struct KernelLaunch {
  cudaKernel_t kernel = nullptr;
  dim3 grid, block;
  size_t sharedBytes = 0;
  /// The address of each argument, as for cudaLaunchKernel, and its bytes.
  void **arguments;
  std::span<const size_t> argumentBytes;
  std::span<const Touched> touched;
};

/// Ends the program by an error where the launch fails. Whoever observes
/// launches (see Api) learns what CUDA does not say of them.
void enqueue(const KernelLaunch &launch, cudaStream_t stream);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CUDA_LAUNCH_H
