// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Launch.h"

namespace shoal::rt {

/// What the kernel touches, then what its arguments take.
static void observe(const KernelLaunch &launch, cudaStream_t stream) {
  for (const Touched &range : launch.touched)
    if (range.bytes != 0)
      api.shoalObserveAccess(stream, range.pointer, range.bytes,
                             static_cast<int>(range.access));
  api.shoalObserveArguments(stream, launch.argumentBytes.size(),
                            launch.argumentBytes.data());
}

void enqueue(const KernelLaunch &launch, cudaStream_t stream) {
  if (api.observesLaunches())
    observe(launch, stream);
  check(api.cudaLaunchKernel(reinterpret_cast<const void *>(launch.kernel),
                             launch.grid, launch.block, launch.arguments,
                             launch.sharedBytes, stream),
        "cudaLaunchKernel");
}

} // namespace shoal::rt
