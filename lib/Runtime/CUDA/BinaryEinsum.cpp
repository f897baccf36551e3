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

/// What the product has of them: of one that is prepared, what was computed.
static std::array<ElementType, 2> preparedTypes(const BinaryEinsum &einsum) {
  std::array<ElementType, 2> types = einsum.typesIn;
  for (size_t i = 0; i < 2; ++i)
    if (einsum.preparations[i].needed)
      types[i] = einsum.compute;
  return types;
}

/// Where a product that is not of 8 bits has scales, its sums are not rounded,
/// nor anything added to them, before they are scaled.
static ElementType sumType(const BinaryEinsum &einsum,
                           const Epilogue *epilogue) {
  return epilogue && epilogue->hasScales() ? ElementType::F32 : einsum.typeOut;
}

/// What such a product can take.
static const Epilogue *unscaled(const Epilogue *epilogue) {
  return epilogue && epilogue->hasScales() ? nullptr : epilogue;
}

std::optional<GemmChoice> chooseBinary(const BinaryEinsum &einsum,
                                       const Epilogue *epilogue,
                                       int capability) {
  if (!einsum.gemm)
    return std::nullopt;
  std::array<ElementType, 2> types = preparedTypes(einsum);
  GemmTensors tensors{nullptr,  types[0], nullptr,
                      types[1], nullptr,  einsum.typeOut};
  GemmChoice choice =
      chooseGemm(*einsum.gemm, einsum.compute, tensors, epilogue, capability);
  bool inEightBits = areFloat8(types) && !choice.obstacle;
  tensors.typeC = sumType(einsum, epilogue);
  if (!inEightBits && unscaled(epilogue) != epilogue) {
    std::optional<std::string> obstacle = choice.obstacle;
    choice =
        chooseGemm(*einsum.gemm, einsum.compute, tensors, nullptr, capability);
    choice.obstacle = obstacle;
  }
  return choice;
}

Applied runBinary(const BinaryEinsum &einsum, const void *a, const void *b,
                  void *result, const Epilogue *epilogue) {
  cudaStream_t stream = Device::get().compute();
  std::array<const void *, 2> operands = {a, b};
  std::array<ElementType, 2> types = preparedTypes(einsum);
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
  }
  GemmTensors tensors{operands[0], types[0], operands[1],
                      types[1],    result,   einsum.typeOut};
  if (einsum.gemm && areFloat8(types))
    if (std::optional<Applied> applied =
            runFloat8Gemm(*einsum.gemm, einsum.compute, tensors, epilogue))
      return *applied;
  Applied applied;
  tensors.typeC = sumType(einsum, epilogue);
  if (tensors.typeC != einsum.typeOut) {
    tensors.c = DeviceStaging::get().as<float>(DeviceStaging::WideResult,
                                               extentOf(epilogue->loops, 0));
    applied.wide = tensors.c;
  }
  if (einsum.gemm) {
    applied.all =
        runGemm(*einsum.gemm, einsum.compute, tensors, unscaled(epilogue));
    return applied;
  }
  LoopProduct loops = einsum.loops;
  loops.typeOut = tensors.typeC;
  runLoops(loops, operands[0], operands[1], tensors.c, stream);
  return applied;
}

} // namespace shoal::rt
