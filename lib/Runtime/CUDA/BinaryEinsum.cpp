// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BinaryEinsum.h"
#include "Device.h"
#include "DeviceMemory.h"
#include "Gemm.h"
#include "KernelLibrary.h"
#include "LoopProduct.h"

namespace shoal::rt {

static bool areFloat8(const std::array<ElementType, 2> &types) {
  return support::isFloat8(types[0]) && support::isFloat8(types[1]);
}

Applied runBinary(const BinaryEinsum &einsum, const void *a, const void *b,
                  void *result, const Epilogue *epilogue) {
  cudaStream_t stream = Device::get().compute();
  std::array<const void *, 2> operands = {a, b};
  std::array<ElementType, 2> types = einsum.typesIn;
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
  GemmTensors tensors{operands[0], types[0], operands[1],
                      types[1],    result,   einsum.typeOut};
  if (einsum.gemm && areFloat8(types))
    if (std::optional<Applied> applied =
            runFloat8Gemm(*einsum.gemm, einsum.compute, tensors, epilogue))
      return *applied;
  Applied applied;
  // The sums are not rounded, nor anything added to them, before they are
  // scaled.
  bool isScaled = epilogue && epilogue->hasScales();
  if (isScaled && tensors.typeC != ElementType::F32) {
    tensors.typeC = ElementType::F32;
    tensors.c = DeviceStaging::get().as<float>(DeviceStaging::WideResult,
                                               extentOf(epilogue->loops, 0));
    applied.wide = tensors.c;
  }
  if (einsum.gemm) {
    applied.all = runGemm(*einsum.gemm, einsum.compute, tensors,
                          isScaled ? nullptr : epilogue);
    return applied;
  }
  LoopProduct loops = einsum.loops;
  loops.typeOut = tensors.typeC;
  runLoops(loops, operands[0], operands[1], tensors.c, stream);
  return applied;
}

} // namespace shoal::rt
