// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shoal_rt_einsum: from a descriptor to copies, kernels and matrix products on
// the compute stream.

#include "../Common/RunEinsum.h"
#include "BinaryEinsum.h"
#include "Device.h"
#include "DeviceMemory.h"
#include "LoopProduct.h"
#include "StridedCopy.h"
#include "Timeline.h"

namespace shoal::rt {

namespace {

struct DeviceEinsum {
  /// Null for none.
  const Epilogue *epilogue = nullptr;
  Applied applied = {};
  cudaStream_t stream = Device::get().compute();

  static void *wide(size_t which, size_t bytes) {
    constexpr DeviceStaging::Slot slots[] = {
        DeviceStaging::Wide0, DeviceStaging::Wide1, DeviceStaging::WideResult};
    return DeviceStaging::get().at(slots[which], bytes);
  }

  void zero(void *out, size_t bytes) const {
    check(api.cudaMemsetAsync(out, 0, bytes, stream), "cudaMemsetAsync");
  }

  void convert(int64_t count, ElementType from, const void *in, ElementType to,
               void *out) const {
    copyStrided({{count, {1, 1}}}, from, in, to, out, stream);
  }

  /// A bias has the type of the program's result.
  void runTyped(const PreparedEinsum &prepared, const void *in0,
                const void *in1, void *out) {
    const EinsumSpec &spec = prepared.spec;
    if (spec.operands.size() == 2)
      applied = runBinary(prepared.product, in0, in1, out,
                          prepared.declaredTypes ? nullptr : epilogue);
    else if (prepared.isCopy)
      copyStrided(prepared.copy, spec.typeIn, in0, spec.typeOut, out, stream);
    else
      runLoops(prepared.sum, in0, nullptr, out, stream);
  }
};

} // namespace

} // namespace shoal::rt

using namespace shoal::rt;

extern "C" void shoal_rt_einsum(const int64_t *desc, ...) {
  DeviceTimed timed(Device::get().compute(), Activity::Einsum);
  const PreparedEinsum &prepared = lookUpEinsum(desc, deviceModel);
  va_list arguments;
  va_start(arguments, desc);
  EinsumBuffers buffers = takeBuffers(prepared.call, arguments);
  va_end(arguments);
  DeviceEinsum device;
  Epilogue epilogue;
  if (prepared.hasEpilogue()) {
    epilogue = makeEpilogue(prepared, buffers);
    device.epilogue = &epilogue;
  }
  runEinsum(prepared, buffers.operands[0], buffers.operands[1], buffers.out,
            device);
  if (device.epilogue && !device.applied.all && prepared.resultElements != 0)
    applyEpilogue(epilogue, device.applied, prepared.declaredResult(),
                  buffers.out, device.stream);
}
