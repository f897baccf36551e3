// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BinaryEinsum.h"
#include "Device.h"
#include "DeviceMemory.h"
#include "Gemm.h"
#include "LoopProduct.h"

namespace shoal::rt {

bool runBinary(const BinaryEinsum &einsum, const void *a, const void *b,
               void *result, const Epilogue *epilogue) {
  cudaStream_t stream = Device::get().compute();
  std::array<const void *, 2> operands = {a, b};
  std::array<ElementType, 2> types = {einsum.typeIn, einsum.typeIn};
  constexpr DeviceStaging::Slot slots[] = {DeviceStaging::Sum0,
                                           DeviceStaging::Sum1};
  for (size_t i = 0; i < 2; ++i) {
    const BinaryEinsum::Preparation &preparation = einsum.preparations[i];
    if (!preparation.needed)
      continue;
    void *summed = DeviceStaging::get().at(
        slots[i], preparation.elements * support::elementSize(einsum.compute));
    runLoops(preparation.sum, operands[i], nullptr, summed, stream);
    operands[i] = summed;
    types[i] = einsum.compute;
  }
  if (einsum.gemm)
    return runGemm(
        *einsum.gemm, einsum.compute,
        {operands[0], types[0], operands[1], types[1], result, einsum.typeOut},
        epilogue);
  runLoops(einsum.loops, operands[0], operands[1], result, stream);
  return false;
}

} // namespace shoal::rt
