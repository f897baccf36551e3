// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shoal_rt_einsum: copies, kernels and matrix products on the compute stream,
// as the descriptor plans them.

#include "../Products/RunEinsum.h"
#include "Device.h"
#include "RunProduct.h"
#include "StridedCopy.h"
#include "Timeline.h"

namespace shoal::rt {

namespace {

struct DeviceEinsum {
  /// Null for none.
  const Epilogue *epilogue = nullptr;
  Applied applied = {};
  cudaStream_t stream = Device::get().compute();

  void zero(void *out, size_t bytes) const {
    check(api.cudaMemsetAsync(out, 0, bytes, stream), "cudaMemsetAsync");
  }

  void convert(int64_t count, ElementType from, const void *in, ElementType to,
               void *out) const {
    copyStrided({{count, {1, 1}}}, from, in, to, out, stream);
  }

  /// A bias has the type of the program's result.
  void runTyped(const EinsumCall &call, const EinsumBuffers &buffers,
                const EinsumMemory &memory) {
    applied =
        runProduct(call.plan, typesInside(call.types, call.plan),
                   buffers.operands[0], buffers.operands[1], buffers.out,
                   memory.product, call.plan.converts ? nullptr : epilogue);
  }
};

} // namespace

} // namespace shoal::rt

using namespace shoal::rt;

extern "C" void shoal_rt_einsum(const int64_t *desc, ...) {
  DeviceTimed timed(Device::get().compute(), Activity::Einsum);
  const PlannedEinsum &einsum = lookUpEinsum(desc, /*isDevice=*/true);
  const EinsumCall &call = einsum.call;
  va_list arguments;
  va_start(arguments, desc);
  EinsumBuffers buffers = takeBuffers(call, arguments);
  va_end(arguments);
  Scratch scratch(buffers.scratch, scratchBytes(call, /*onDevice=*/true));
  EinsumMemory memory = takeMemory(scratch, einsum.scratch, /*onDevice=*/true);
  DeviceEinsum device;
  Epilogue epilogue;
  if (hasEpilogue(call)) {
    epilogue = makeEpilogue(call, buffers, memory.wide[2]);
    device.epilogue = &epilogue;
  }
  runEinsum(call, buffers, memory, device);
  if (device.epilogue && !device.applied.all && call.elements[2] != 0)
    applyEpilogue(epilogue, device.applied, call.types.out, buffers.out,
                  device.stream);
}
