// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Products/ProductScratch.h"
#include "shoal/Calls/Scratch.h"
#include "shoal/Products/GemmPieces.h"
#include "shoal/Products/OneDNN.h"

namespace shoal::products {

/// A piece of so many elements, and what aligning its beginning may skip.
static int64_t pieceOf(int64_t elements, ElementType type, bool onDevice) {
  int64_t bytes = elements * static_cast<int64_t>(support::elementSize(type));
  if (bytes == 0 || !onDevice)
    return bytes;
  return bytes + deviceAlignment - calls::scratchAlignment;
}

/// Of an operand of f8 with its sums dense: a loop along which it repeats is
/// left out.
static int64_t distinctElements(const GemmPlan &gemm, size_t operand) {
  int64_t elements = 1;
  auto addLoops = [&](const Loops<3> &loops, bool isDense) {
    for (const Loop<3> &loop : loops)
      elements *= isDense || loop.strides[operand] != 0 ? loop.size : 1;
  };
  auto addMatrix = [&](int64_t rows, int64_t columns, MatrixStrides strides) {
    elements *= strides.row != 0 ? rows : 1;
    elements *= strides.column != 0 ? columns : 1;
  };
  // Packed, all batches lie one behind the other.
  addLoops(gemm.batch, gemm.packing[operand].has_value());
  addLoops(gemm.outer, false);
  addLoops(gemm.summed, false);
  if (operand == 0)
    addMatrix(gemm.m, gemm.k, gemm.a);
  else
    addMatrix(gemm.k, gemm.n, gemm.b);
  return elements;
}

/// What the library's products pack.
static void addPacked(const GemmPlan &gemm, bool onDevice,
                      const std::array<ElementType, 2> &typesIn,
                      ElementType compute, ProductScratch &scratch) {
  // Some libraries take operands as they are.
  bool areKept = onDevice || isNarrowProduct(gemm.library, typesIn);
  const ElementType types[] = {areKept ? typesIn[0] : compute,
                               areKept ? typesIn[1] : compute, compute};
  int64_t batches = onDevice ? iterations(gemm.batch) : 1;
  for (size_t i = 0; i < 3; ++i)
    if (gemm.packing[i])
      scratch.packed[i] =
          pieceOf(batches * iterations(*gemm.packing[i]), types[i], onDevice);
}

ProductScratch scratchOf(const ProductTypes &inside, const ProductPlan &plan) {
  ElementType compute = computeType(inside);
  ProductScratch scratch;
  for (size_t i = 0; i < 2; ++i)
    if (plan.prepared[i])
      scratch.prepared[i] =
          pieceOf(iterations(plan.prepared[i]->outer), compute, plan.isDevice);
  if (!plan.gemm)
    return scratch;
  std::array<ElementType, 2> types = preparedTypes(inside, plan);
  addPacked(*plan.gemm, plan.isDevice, types, compute, scratch);
  if (!plan.isDevice) {
    const GemmPlan &gemm = *plan.gemm;
    int64_t others = cutTerms(gemm, libraryResultType(inside, gemm)).count - 1;
    scratch.parts =
        pieceOf(others * gemm.m * gemm.n, compute, /*onDevice=*/false);
    return scratch;
  }
  if (support::isFloat8(types[0]) && support::isFloat8(types[1]))
    for (size_t i = 0; i < 2; ++i)
      scratch.aligned[i] = pieceOf(distinctElements(*plan.gemm, i),
                                   ElementType::BF16, /*onDevice=*/true);
  scratch.workspace =
      pieceOf(workspaceBytes, ElementType::I8, /*onDevice=*/true);
  return scratch;
}

int64_t sumOf(const ProductScratch &scratch) {
  int64_t sum = 0;
  scratch.map(
      [&](int64_t bytes) { return sum += calls::sumOfPieces({bytes}); });
  return sum;
}

EinsumScratch scratchOf(const EinsumCall &call) {
  const ProductPlan &plan = call.plan;
  EinsumScratch scratch;
  if (isZero(plan))
    return scratch;
  ElementType compute = computeType(call.types);
  const ElementType types[] = {call.types.in[0], call.types.in[1],
                               call.types.out};
  bool scalesSums = call.numScales != 0;
  for (size_t i = 0; i < 3; ++i)
    if (types[i] != compute && (plan.converts || (i == 2 && scalesSums)))
      scratch.wide[i] = pieceOf(call.elements[i], compute, plan.isDevice);
  scratch.product = scratchOf(typesInside(call.types, plan), plan);
  return scratch;
}

} // namespace shoal::products

int64_t shoal::calls::scratchBytes(const EinsumCall &call, bool onDevice) {
  if (call.plan.isDevice != onDevice)
    return 0;
  products::EinsumScratch scratch = products::scratchOf(call);
  const auto &[lhs, rhs, result] = scratch.wide;
  return sumOfPieces({lhs, rhs, result}) + products::sumOf(scratch.product);
}
