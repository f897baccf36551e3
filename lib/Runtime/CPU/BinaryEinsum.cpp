// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BinaryEinsum.h"
#include "Gemm.h"
#include "LoopProduct.h"

namespace shoal::rt {

const void *oneOf(ElementType type) {
  return dispatchType(type, []<typename T>() -> const void * {
    static const T one = convert<T>(float(1));
    return &one;
  });
}

void runBinary(const BinaryEinsum &einsum, const void *a, const void *b,
               void *result) {
  std::array<const void *, 2> operands = {a, b};
  std::array<ElementType, 2> types = einsum.typesIn;
  constexpr Staging::Slot slots[] = {Staging::Sum0, Staging::Sum1};
  for (size_t i = 0; i < 2; ++i) {
    const BinaryEinsum::Preparation &preparation = einsum.preparations[i];
    if (!preparation.needed)
      continue;
    void *summed = Staging::get().at(
        slots[i], preparation.elements * support::elementSize(einsum.compute));
    runLoops(preparation.sum, operands[i], oneOf(einsum.typesIn[i]), summed);
    operands[i] = summed;
    types[i] = einsum.compute;
  }
  if (einsum.gemm)
    runGemm(
        *einsum.gemm, einsum.compute,
        {operands[0], types[0], operands[1], types[1], result, einsum.typeOut});
  else
    runLoops(einsum.loops, operands[0], operands[1], result);
}

} // namespace shoal::rt
