// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// launch, copy, read_scalar, wait and axis_index.

#include "../Program/Calls.h"
#include "Collective.h"
#include "Device.h"
#include "ProgramKernels.h"
#include "StridedCopy.h"

#include <cstdarg>
#include <cstring>

using namespace shoal::rt;

/// Memory of the host that lives as long as the program, for copies that do not
/// wait.
template <typename T>
static T *pinned(size_t count) {
  void *memory = nullptr;
  check(api.cudaMallocHost(&memory, count * sizeof(T)), "cudaMallocHost");
  return static_cast<T *>(memory);
}

static dim3 sizeOf(const std::array<int64_t, 3> &n) {
  return {static_cast<unsigned>(n[0]), static_cast<unsigned>(n[1]),
          static_cast<unsigned>(n[2])};
}

extern "C" void shoal_rt_launch(const int64_t *desc, ...) {
  const auto &call = lookUp<LaunchCall>(desc);
  dim3 grid = sizeOf(call.grid);
  if (grid.x == 0 || grid.y == 0 || grid.z == 0)
    return;
  size_t numBuffers = call.buffers.size();
  std::vector<void *> pointers(numBuffers), arguments(numBuffers);
  std::vector<size_t> argumentBytes(numBuffers, sizeof(void *));
  std::vector<Touched> touched;
  va_list buffers;
  va_start(buffers, desc);
  for (size_t i = 0; i < numBuffers; ++i) {
    const TouchedBytes &buffer = call.buffers[i];
    pointers[i] = va_arg(buffers, void *);
    arguments[i] = static_cast<void *>(&pointers[i]);
    touched.push_back({static_cast<char *>(pointers[i]) + buffer.offset,
                       buffer.bytes, buffer.access});
  }
  va_end(buffers);
  ProgramKernels::get().launch(
      call.kernel, {.grid = grid,
                    .block = sizeOf(call.block),
                    .sharedBytes = static_cast<size_t>(call.sharedBytes),
                    .arguments = arguments.data(),
                    .argumentBytes = argumentBytes,
                    .touched = touched});
}

extern "C" void shoal_rt_copy(const int64_t *desc, const void *in, void *out) {
  int64_t bytes = lookUp<CopyCall>(desc).bytes;
  if (bytes == 0)
    return;
  setActivity("call", "copy");
  check(api.cudaMemcpyAsync(out, in, bytes, cudaMemcpyDeviceToDevice,
                            Device::get().compute()),
        "cudaMemcpyAsync");
}

extern "C" int64_t shoal_rt_read_scalar(const int64_t *desc, const void *in) {
  static auto *value = pinned<int64_t>(1);
  ElementType type = lookUp<ReadScalarCall>(desc).type;
  cudaStream_t stream = Device::get().compute();
  setActivity("call", "read_scalar");
  check(api.cudaMemcpyAsync(value, in, shoal::support::elementSize(type),
                            cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
  Timeline::get().waitFor(stream);
  return dispatchType(type, []<typename T>() -> int64_t {
    T element;
    std::memcpy(&element, value, sizeof element);
    return static_cast<int64_t>(widen(element));
  });
}

extern "C" void shoal_rt_wait(const int64_t *desc) {
  waitForCollective(lookUp<WaitCall>(desc).id);
}

extern "C" void shoal_rt_axis_index(const int64_t *desc, int32_t *out) {
  const auto &call = lookUp<AxisIndexCall>(desc);
  const Device &device = Device::get();
  int64_t index = device.indexOver(call.mesh, call.axes);
  fill(sizeof *out, static_cast<uint64_t>(index), /*count=*/1, out,
       device.compute());
}
