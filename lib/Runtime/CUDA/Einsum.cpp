// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shoal_rt_einsum and those with an epilogue: from a descriptor to copies,
// kernels and matrix products on the compute stream.

#include "../Common/RunEinsum.h"
#include "BinaryEinsum.h"
#include "Device.h"
#include "DeviceMemory.h"
#include "LoopProduct.h"
#include "StridedCopy.h"
#include "Timeline.h"

#include <cstdarg>

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

static void runWithEpilogue(const int64_t *desc, int64_t activation,
                            const Letters &letters, const void *in0,
                            const void *in1, const void *bias, void *out,
                            const std::array<const void *, 2> &scales = {}) {
  DeviceTimed timed(Device::get().compute(), Activity::Einsum);
  const PreparedEinsum &prepared = lookUpEinsum(desc, deviceModel);
  Epilogue epilogue = makeEpilogue(prepared.spec, activation, bias, letters);
  epilogue.scales = scales;
  DeviceEinsum device{&epilogue};
  runEinsum(prepared, in0, in1, out, device);
  if (!device.applied.all && prepared.resultElements != 0)
    applyEpilogue(epilogue, device.applied, prepared.declaredResult(), out,
                  device.stream);
}

} // namespace shoal::rt

using namespace shoal::rt;

extern "C" void shoal_rt_einsum(const int64_t *desc, const void *in0,
                                const void *in1OrOut, void *out) {
  DeviceTimed timed(Device::get().compute(), Activity::Einsum);
  const PreparedEinsum &prepared = lookUpEinsum(desc, deviceModel);
  DeviceEinsum device;
  if (prepared.spec.operands.size() == 1)
    runEinsum(prepared, in0, nullptr, const_cast<void *>(in1OrOut), device);
  else
    runEinsum(prepared, in0, in1OrOut, out, device);
}

extern "C" void shoal_rt_einsum_activation(const int64_t *desc, const void *in0,
                                           const void *in1, void *out) {
  runWithEpilogue(desc + 1, *desc, /*letters=*/{}, in0, in1, nullptr, out);
}

extern "C" void shoal_rt_einsum_bias(const int64_t *desc, const void *in0,
                                     const void *in1, const void *bias,
                                     void *out) {
  EpilogueSpec spec = readBiasSpec(desc);
  runWithEpilogue(spec.einsum, spec.activation, spec.letters, in0, in1, bias,
                  out);
}

extern "C" void shoal_rt_einsum_scaled(const int64_t *desc, const void *in0,
                                       const void *in1, ...) {
  EpilogueSpec spec = readScaledSpec(desc);
  va_list arguments;
  va_start(arguments, in1);
  std::array<const void *, 2> scales = {};
  for (int64_t i = 0; i < spec.numScales; ++i)
    scales[i] = va_arg(arguments, const void *);
  const void *bias =
      !spec.letters.empty() ? va_arg(arguments, const void *) : nullptr;
  void *out = va_arg(arguments, void *);
  va_end(arguments);
  runWithEpilogue(spec.einsum, spec.activation, spec.letters, in0, in1, bias,
                  out, scales);
}
