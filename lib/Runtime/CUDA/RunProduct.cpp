// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RunProduct.h"
#include "Device.h"
#include "Gemm.h"
#include "KernelLibrary.h"
#include "LoopProduct.h"

namespace shoal::rt {

static bool areFloat8(const std::array<ElementType, 2> &types) {
  return support::isFloat8(types[0]) && support::isFloat8(types[1]);
}

/// Where a product that is not of 8 bits has scales, its sums are not rounded,
/// nor anything added to them, before they are scaled.
static ElementType sumType(ElementType typeOut, const Epilogue *epilogue) {
  return epilogue && epilogue->hasScales() ? ElementType::F32 : typeOut;
}

/// What such a product can take.
static const Epilogue *unscaled(const Epilogue *epilogue) {
  return epilogue && epilogue->hasScales() ? nullptr : epilogue;
}

std::optional<GemmChoice> chooseProduct(const ProductPlan &plan,
                                        const ProductTypes &types,
                                        const Epilogue *epilogue,
                                        int capability) {
  if (!plan.gemm)
    return std::nullopt;
  ElementType compute = computeType(types);
  std::array<ElementType, 2> typesIn = preparedTypes(types, plan);
  GemmTensors tensors{nullptr,    typesIn[0], nullptr,
                      typesIn[1], nullptr,    types.out};
  GemmChoice choice =
      chooseGemm(*plan.gemm, compute, tensors, epilogue, capability);
  bool inEightBits = areFloat8(typesIn) && !choice.obstacle;
  tensors.typeC = sumType(types.out, epilogue);
  if (!inEightBits && unscaled(epilogue) != epilogue) {
    std::optional<std::string> obstacle = choice.obstacle;
    choice = chooseGemm(*plan.gemm, compute, tensors, nullptr, capability);
    choice.obstacle = obstacle;
  }
  return choice;
}

Applied runProduct(const ProductPlan &plan, const ProductTypes &types,
                   const void *a, const void *b, void *result,
                   const ProductMemory &memory, const Epilogue *epilogue) {
  cudaStream_t stream = Device::get().compute();
  ElementType compute = computeType(types);
  std::array<const void *, 2> operands = {a, b};
  std::array<ElementType, 2> typesIn = preparedTypes(types, plan);
  for (size_t i = 0; i < 2; ++i) {
    if (!plan.prepared[i])
      continue;
    void *prepared = memory.prepared[i];
    runLoops(*plan.prepared[i], types.in[i], compute, operands[i], nullptr,
             prepared, stream);
    operands[i] = prepared;
  }
  GemmTensors tensors{operands[0], typesIn[0], operands[1],
                      typesIn[1],  result,     types.out};
  if (plan.gemm && areFloat8(typesIn))
    if (std::optional<Applied> applied =
            runFloat8Gemm(*plan.gemm, compute, tensors, memory, epilogue))
      return *applied;
  Applied applied;
  tensors.typeC = sumType(types.out, epilogue);
  if (tensors.typeC != types.out)
    applied.wide = tensors.c = epilogue->sums;
  if (plan.gemm)
    applied.all =
        runGemm(*plan.gemm, compute, tensors, memory, unscaled(epilogue));
  else
    runLoops(*plan.loops, typesIn[0], tensors.typeC, operands[0], operands[1],
             tensors.c, stream);
  return applied;
}

} // namespace shoal::rt
