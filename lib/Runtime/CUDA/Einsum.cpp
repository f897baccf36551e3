// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// shoal_rt_einsum: from a descriptor to copies, kernels and matrix products on
// the compute stream.

#include "../Common/PreparedEinsum.h"
#include "BinaryEinsum.h"
#include "Device.h"
#include "DeviceMemory.h"
#include "LoopProduct.h"
#include "StridedCopy.h"
#include "Timeline.h"

namespace shoal::rt {

static void runTyped(const PreparedEinsum &prepared, const void *in0,
                     const void *in1, void *out) {
  const EinsumSpec &spec = prepared.spec;
  cudaStream_t stream = Device::get().compute();
  if (spec.operands.size() == 2)
    runBinary(prepared.product, in0, in1, out);
  else if (prepared.isCopy)
    copyStrided(prepared.copy, spec.typeIn, in0, spec.typeOut, out, stream);
  else
    runLoops(prepared.sum, in0, nullptr, out, stream);
}

/// Through whole converted copies, for the rare mixtures of types.
static void runConverted(const PreparedEinsum &prepared, const void *in0,
                         const void *in1, void *out) {
  const EinsumSpec &spec = prepared.spec;
  auto [typeIn, typeOut] = *prepared.declaredTypes;
  ElementType compute = spec.typeIn;
  cudaStream_t stream = Device::get().compute();
  std::array<const void *, 2> operands = {in0, in1};
  constexpr DeviceStaging::Slot slots[] = {DeviceStaging::Wide0,
                                           DeviceStaging::Wide1};
  for (size_t i = 0; i < spec.operands.size() && typeIn != compute; ++i) {
    int64_t count = elementsOf(spec, spec.operands[i]);
    void *wide = DeviceStaging::get().at(slots[i],
                                         count * support::elementSize(compute));
    copyStrided({{count, {1, 1}}}, typeIn, operands[i], compute, wide, stream);
    operands[i] = wide;
  }
  if (typeOut == compute)
    return runTyped(prepared, operands[0], operands[1], out);
  int64_t count = prepared.resultElements;
  void *result = DeviceStaging::get().at(DeviceStaging::WideResult,
                                         count * support::elementSize(compute));
  runTyped(prepared, operands[0], operands[1], result);
  copyStrided({{count, {1, 1}}}, compute, result, typeOut, out, stream);
}

static void runEinsum(const PreparedEinsum &prepared, const void *in0,
                      const void *in1, void *out) {
  if (prepared.resultElements == 0)
    return;
  ElementType declared = prepared.declaredTypes ? prepared.declaredTypes->second
                                                : prepared.spec.typeOut;
  cudaStream_t stream = Device::get().compute();
  if (prepared.emptySum)
    check(api.cudaMemsetAsync(
              out, 0, prepared.resultElements * support::elementSize(declared),
              stream),
          "cudaMemsetAsync");
  else if (prepared.declaredTypes)
    runConverted(prepared, in0, in1, out);
  else
    runTyped(prepared, in0, in1, out);
}

} // namespace shoal::rt

extern "C" void shoal_rt_einsum(const int64_t *desc, const void *in0,
                                const void *in1OrOut, void *out) {
  using namespace shoal::rt;
  DeviceTimed timed(Device::get().compute(), Activity::Einsum);
  const PreparedEinsum &prepared = lookUpEinsum(desc, deviceModel);
  if (prepared.spec.operands.size() == 1)
    runEinsum(prepared, in0, nullptr, const_cast<void *>(in1OrOut));
  else
    runEinsum(prepared, in0, in1OrOut, out);
}
