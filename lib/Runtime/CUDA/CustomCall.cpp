// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// custom_call: its function is the host's. Operands are copied to memory of the
// host, the compute stream is waited for, the function is called and its
// results are copied back; the call returns when they are. It cannot be part of
// a CUDA graph.

#include "../Memory/Memory.h"
#include "../Program/CustomCallSpec.h"
#include "Device.h"
#include "Timeline.h"

#include <cstdarg>

using namespace shoal::rt;

static int64_t bytesOf(const shoal_tensor &tensor) {
  auto type = static_cast<ElementType>(tensor.type);
  return shoal::support::numElements({tensor.shape, size_t(tensor.rank)}) *
         static_cast<int64_t>(shoal::support::elementSize(type));
}

static void copyAndWait(void *target, const void *source, int64_t bytes,
                        cudaMemcpyKind kind) {
  if (bytes == 0)
    return;
  cudaStream_t stream = Device::get().compute();
  check(api.cudaMemcpyAsync(target, source, bytes, kind, stream),
        "cudaMemcpyAsync");
  Timeline::get().waitFor(stream);
}

extern "C" void shoal_rt_custom_call(const int64_t *desc,
                                     shoal_custom_function function, ...) {
  CustomCallSpec spec(desc);
  setActivity("custom_call", spec.described.target.c_str());
  std::vector<void *> onDevice;
  std::vector<Buffer> onHost;
  va_list arguments;
  va_start(arguments, function);
  for (shoal_tensor &tensor : spec.tensors) {
    onDevice.push_back(va_arg(arguments, void *));
    onHost.push_back(allocate(bytesOf(tensor)));
    if (!onHost.back())
      fatal("custom_call \"" + spec.described.target + "\": no memory for " +
            formatBytes(static_cast<double>(bytesOf(tensor))));
    tensor.data = onHost.back().get();
  }
  va_end(arguments);
  auto numOperands = static_cast<size_t>(spec.numOperands());
  for (size_t i = 0; i < numOperands; ++i)
    copyAndWait(spec.tensors[i].data, onDevice[i], bytesOf(spec.tensors[i]),
                cudaMemcpyDeviceToHost);
  spec.call(function);
  for (size_t i = numOperands; i < spec.tensors.size(); ++i)
    copyAndWait(onDevice[i], spec.tensors[i].data, bytesOf(spec.tensors[i]),
                cudaMemcpyHostToDevice);
}
