// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RunProduct.h"
#include "Gemm.h"
#include "LoopProduct.h"

namespace shoal::rt {

/// A one of every type, the second operand of sums over one.
static const void *oneOf(ElementType type) {
  return dispatchType(type, []<typename T>() -> const void * {
    static const T one = convert<T>(float(1));
    return &one;
  });
}

void runProduct(const ProductPlan &plan, const ProductTypes &types,
                const void *a, const void *b, void *result,
                const ProductMemory &memory) {
  ElementType compute = computeType(types);
  std::array<ElementType, 2> typesIn = preparedTypes(types, plan);
  std::array<const void *, 2> operands = {a, b};
  for (size_t i = 0; i < 2; ++i) {
    if (!plan.prepared[i])
      continue;
    void *prepared = memory.prepared[i];
    runLoops(*plan.prepared[i], types.in[i], compute, operands[i],
             oneOf(types.in[i]), prepared);
    operands[i] = prepared;
  }
  if (plan.gemm)
    runGemm(
        *plan.gemm, compute,
        {operands[0], typesIn[0], operands[1], typesIn[1], result, types.out},
        memory);
  else
    runLoops(*plan.loops, typesIn[0], types.out, operands[0], operands[1],
             result);
}

} // namespace shoal::rt
