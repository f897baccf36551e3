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
                const void *a, const void *b, void *result) {
  ElementType compute = computeType(types);
  std::array<ElementType, 2> typesIn = preparedTypes(types, plan);
  std::array<const void *, 2> operands = {a, b};
  constexpr Staging::Slot slots[] = {Staging::Sum0, Staging::Sum1};
  for (size_t i = 0; i < 2; ++i) {
    if (!plan.prepared[i])
      continue;
    void *summed =
        Staging::get().at(slots[i], iterations(plan.prepared[i]->outer) *
                                        support::elementSize(compute));
    runLoops(*plan.prepared[i], types.in[i], compute, operands[i],
             oneOf(types.in[i]), summed);
    operands[i] = summed;
  }
  if (plan.gemm)
    runGemm(
        *plan.gemm, compute,
        {operands[0], typesIn[0], operands[1], typesIn[1], result, types.out});
  else
    runLoops(*plan.loops, typesIn[0], types.out, operands[0], operands[1],
             result);
}

} // namespace shoal::rt
