// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LoopProduct.h"
#include "Combine.h"
#include "KernelLibrary.h"
#include "shoal/Machine/Machine.h"

namespace shoal::rt {

static bool isDense(const Loops<3> &loops) {
  return !loops.empty() && loops.back().strides[0] <= 1 &&
         loops.back().strides[1] <= 1;
}

/// A block an element of the result: where there are too few for a thread each,
/// or neighbouring terms are dense and neighbouring elements are not.
static bool takesRows(const Loops<3> &outer, const Nest<3> &outerNest,
                      const Loops<3> &summed, const Nest<2> &summedNest) {
  constexpr int64_t longEnough = 128;
  return summedNest.count >= longEnough &&
         (outerNest.count < gpuMachine.limits.enoughThreads ||
          (isDense(summed) && !isDense(outer)));
}

void runLoops(const LoopProduct &product, ElementType typeIn,
              ElementType typeOut, const void *a, const void *b, void *result,
              cudaStream_t stream) {
  if (isEmpty(product.outer))
    return;
  Loops<3> outer = simplify(product.outer, /*leader=*/2), summed;
  if (!isEmpty(product.summed))
    summed = simplify(product.summed, /*leader=*/0);
  Loops<2> terms;
  for (const Loop<3> &loop : summed)
    terms.push_back({loop.size, {loop.strides[0], loop.strides[1]}});
  ProductParameters p{};
  p.outer = nestOf(outer);
  p.summed = nestOf(terms);
  if (isEmpty(product.summed))
    p.summed.count = 0;
  p.typeIn = static_cast<int32_t>(typeIn);
  p.typeOut = static_cast<int32_t>(typeOut);
  p.sum = static_cast<int32_t>(kindOn(typeIn, Kind::Sum));
  p.product = static_cast<int32_t>(kindOn(typeIn, Kind::Prod));
  p.a = a;
  p.b = b;
  p.result = result;
  bool rows = takesRows(outer, p.outer, summed, p.summed);
  const char *name = rows ? SHOAL_WIDE_NAMES("shoal_product_rows").of(typeIn)
                          : SHOAL_WIDE_NAMES("shoal_product").of(typeIn);
  Loops<3> all = outer;
  all.insert(all.end(), summed.begin(), summed.end());
  auto bytes = [&](size_t operand, ElementType type) {
    return extentOf(all, operand) *
           static_cast<int64_t>(support::elementSize(type));
  };
  launch(stream, name, blocksFor(p.outer.count, rows ? 1 : blockThreads), p,
         {{a, bytes(0, typeIn), Access::Read},
          {b, b ? bytes(1, typeIn) : 0, Access::Read},
          {result, bytes(2, typeOut), Access::Write}});
}

} // namespace shoal::rt
