// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Products/ProductScratch.h"
#include "shoal/Calls/Scratch.h"

#include <utility>

namespace shoal::products {

namespace {

/// Places pieces one behind the other.
class Layout {
public:
  explicit Layout(bool onDevice, int64_t begin = 0)
      : alignment(pieceAlignment(onDevice)), next(alignUp(begin)) {}

  int64_t add(int64_t elements, ElementType type) {
    return add(elements * static_cast<int64_t>(support::elementSize(type)));
  }
  int64_t add(int64_t bytes) {
    return std::exchange(next, next + alignUp(bytes));
  }
  int64_t end() const { return next; }

private:
  int64_t alignUp(int64_t bytes) const {
    return (bytes + alignment - 1) / alignment * alignment;
  }

  int64_t alignment, next;
};

} // namespace

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

ProductScratch scratchOf(const ProductTypes &inside, const ProductPlan &plan,
                         int64_t begin) {
  ElementType compute = computeType(inside);
  auto [a, b] = preparedTypes(inside, plan);
  ProductScratch scratch;
  Layout layout(plan.isDevice, begin);
  for (size_t i = 0; i < 2; ++i)
    if (plan.prepared[i])
      scratch.prepared[i] =
          layout.add(iterations(plan.prepared[i]->outer), compute);
  if (plan.gemm) {
    const GemmPlan &gemm = *plan.gemm;
    // A device's library takes operands as they are.
    const ElementType types[] = {plan.isDevice ? a : compute,
                                 plan.isDevice ? b : compute, compute};
    int64_t batches = plan.isDevice ? iterations(gemm.batch) : 1;
    for (size_t i = 0; i < 3; ++i)
      if (gemm.packing[i])
        scratch.packed[i] =
            layout.add(batches * iterations(*gemm.packing[i]), types[i]);
    if (plan.isDevice && support::isFloat8(a) && support::isFloat8(b))
      for (size_t i = 0; i < 2; ++i)
        scratch.aligned[i] =
            layout.add(distinctElements(gemm, i), ElementType::BF16);
    if (plan.isDevice)
      scratch.workspace = layout.add(workspaceBytes);
  }
  scratch.end = layout.end();
  return scratch;
}

EinsumScratch scratchOf(const EinsumCall &call) {
  const ProductPlan &plan = call.plan;
  if (isZero(plan))
    return {};
  ElementType compute = computeType(call.types);
  EinsumScratch scratch;
  Layout layout(plan.isDevice);
  const ElementType types[] = {call.types.in[0], call.types.in[1],
                               call.types.out};
  bool scalesSums = call.numScales != 0 && !plan.converts;
  for (size_t i = 0; i < 3; ++i)
    if (types[i] != compute && (plan.converts || (i == 2 && scalesSums)))
      scratch.wide[i] = layout.add(call.elements[i], compute);
  scratch.product =
      scratchOf(typesInside(call.types, plan), plan, layout.end());
  return scratch;
}

int64_t providedBytes(int64_t end, bool onDevice) {
  return end == 0 ? 0 : end + pieceAlignment(onDevice) - calls::scratchAlignment;
}

char *firstPiece(void *memory, bool onDevice) {
  auto alignment = static_cast<uintptr_t>(pieceAlignment(onDevice));
  uintptr_t past = reinterpret_cast<uintptr_t>(memory) % alignment;
  return static_cast<char *>(memory) + (past == 0 ? 0 : alignment - past);
}

} // namespace shoal::products

int64_t shoal::calls::scratchBytes(const EinsumCall &call, bool onDevice) {
  if (call.plan.isDevice != onDevice)
    return 0;
  return products::providedBytes(products::scratchOf(call).product.end,
                                 onDevice);
}
