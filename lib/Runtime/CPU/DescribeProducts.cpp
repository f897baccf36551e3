// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "DescribeProducts.h"
#include "../Products/DescribeProducts.h"
#include "../Program/Calls.h"
#include "shoal/Products/GemmPieces.h"
#include "shoal/Products/OneDNN.h"
#include "shoal/Products/PlanEinsum.h"

namespace shoal::rt {

/// As shoal_rt_blas_gemm chooses among BLAS' levels.
static const char *libraryOf(const calls::GemmPlan &gemm) {
  if (gemm.library == calls::ProductLibrary::OneDNN)
    return "oneDNN";
  if (gemm.m == 1 && gemm.n == 1)
    return "BLAS dot";
  return gemm.m == 1 || gemm.n == 1 ? "BLAS gemv" : "BLAS gemm";
}

static std::string describeEinsum(const EinsumCall &call) {
  const calls::ProductPlan &plan = call.plan;
  if (call.elements[2] == 0 || products::isZero(plan))
    return "no terms";
  ElementType compute = products::computeType(call.types);
  std::string type(support::elementTypeName(compute));
  if (!plan.gemm)
    return "loops in " + type + describeCopies(plan);
  int64_t times = products::iterations(plan.gemm->batch) *
                  products::iterations(plan.gemm->outer) *
                  products::iterations(plan.gemm->summed);
  calls::ProductTypes inside = products::typesInside(call.types, plan);
  if (products::isNarrowProduct(plan.gemm->library,
                                products::preparedTypes(inside, plan)))
    type = support::elementTypeName(call.types.in[0]);
  int64_t parts =
      products::cutTerms(*plan.gemm,
                         products::libraryResultType(inside, *plan.gemm))
          .count;
  return describeSizes(*plan.gemm, times) + ", " + libraryOf(*plan.gemm) +
         " in " + type +
         (parts > 1 ? ", terms in " + std::to_string(parts) + " parts" : "") +
         describeCopies(plan);
}

std::string describeProducts(const Program &program) {
  std::string text;
  for (const ProductInfo &product : program.products)
    text += productLine(
        product, product.isRagged
                     ? "groups, BLAS or loops for each"
                     : describeEinsum(decode<EinsumCall>(product.desc.data())));
  return text.empty() ? "" : "products on the CPU:\n" + text;
}

} // namespace shoal::rt
