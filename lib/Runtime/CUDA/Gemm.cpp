// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Gemm.h"
#include "Device.h"
#include "DeviceMemory.h"
#include "LoopProduct.h"
#include "Matmul.h"
#include "StridedCopy.h"

#include <bit>

namespace shoal::rt {

namespace {

constexpr size_t C = 2;

/// A plan with whole operands packed: what the products see.
struct Products {
  /// Strides in elements of `type` at `data`.
  std::array<char *, 3> data;
  std::array<ElementType, 3> type;
  /// Batches and the loops around the products, merged.
  Loops<3> outer;
};

int64_t sizeOf(ElementType type) {
  return static_cast<int64_t>(support::elementSize(type));
}

int64_t iterations(const Loops<3> &loops) {
  int64_t count = 1;
  for (const Loop<3> &loop : loops)
    count *= loop.size;
  return count;
}

/// The copy of a whole operand: of one batch index, for all of them, which lie
/// one after another in the scratch. Gives them these strides in `batch`.
Loops<2> packBatches(const Packing &packing, size_t operand, Loops<3> &batch) {
  Loops<2> copy = packing.copy;
  int64_t stride = packing.elements;
  for (size_t l = batch.size(); l-- > 0;) {
    copy.push_back({batch[l].size, {batch[l].strides[operand], stride}});
    batch[l].strides[operand] = stride;
    stride *= batch[l].size;
  }
  return copy;
}

Loops<2> reversed(Loops<2> loops) {
  for (Loop<2> &loop : loops)
    std::swap(loop.strides[0], loop.strides[1]);
  return loops;
}

/// A bound on the alignment of all matrices: that of everything added up.
int64_t alignmentOf(const GemmPlan &plan, const Products &products,
                    size_t operand) {
  constexpr uint64_t most = 256;
  uint64_t bits = most | reinterpret_cast<uintptr_t>(products.data[operand]);
  for (const Loops<3> *loops : {&products.outer, &plan.summed})
    for (const Loop<3> &loop : *loops)
      bits |= static_cast<uint64_t>(loop.strides[operand] *
                                    sizeOf(products.type[operand]));
  return int64_t(1) << std::countr_zero(bits);
}

/// The longest outer loop becomes the batches of one call.
Loop<3> takeBatches(Loops<3> &loops) {
  if (loops.empty())
    return {1, {0, 0, 0}};
  auto longest = std::max_element(
      loops.begin(), loops.end(),
      [](const Loop<3> &a, const Loop<3> &b) { return a.size < b.size; });
  Loop<3> batches = *longest;
  loops.erase(longest);
  return batches;
}

/// The epilogue of products whose batches and calls run through the result like
/// this; none where cuBLASLt has no such one: it adds a dense vector to each
/// column, as it sees columns, and knows no sum of several products.
std::optional<MatmulEpilogue> fitEpilogue(const GemmPlan &plan,
                                          const Products &products,
                                          const Loop<3> &batches,
                                          const Loops<3> &calls,
                                          const Epilogue &epilogue) {
  if (!plan.summed.empty() || plan.packing[C].packed ||
      products.type[C] == ElementType::F64)
    return std::nullopt;
  bool rowMajor = StoredMatrix(plan.m, plan.n, plan.c).rowMajor;
  auto rows = epilogue.biasStride(plan.m, plan.c.row);
  auto columns = epilogue.biasStride(plan.n, plan.c.column);
  auto batch = epilogue.biasStride(batches.size, batches.strides[C]);
  if (rowMajor)
    std::swap(rows, columns);
  int64_t dense = rowMajor ? plan.n : plan.m;
  bool isVector = rows && (*rows == 1 || dense == 1) && columns == 0 && batch;
  for (const Loop<3> &call : calls)
    isVector = isVector && epilogue.biasStride(call.size, call.strides[C]);
  if (epilogue.bias && !isVector)
    return std::nullopt;
  return MatmulEpilogue{epilogue.activation, epilogue.bias, dense,
                        batch.value_or(0)};
}

/// The loops with the bias as another operand.
Loops<4> withBias(const Loops<3> &calls, const Epilogue *epilogue) {
  Loops<4> all;
  for (const Loop<3> &call : calls) {
    const Offsets<3> &at = call.strides;
    int64_t bias =
        epilogue ? epilogue->biasStride(call.size, at[C]).value_or(0) : 0;
    all.push_back({call.size, {at[0], at[1], at[C], bias}});
  }
  return all;
}

enum class Ran { Nothing, Product, ProductAndEpilogue };

/// Nothing if cuBLASLt has no such product, with or without the epilogue.
Ran runMatmuls(const GemmPlan &plan, const Products &products,
               const Epilogue *epilogue, cudaStream_t stream) {
  Loops<3> calls = products.outer;
  Loop<3> batches = takeBatches(calls);
  auto matrix = [&](size_t operand, int64_t rows, int64_t columns,
                    MatrixStrides strides) {
    return MatrixBatch{
        products.type[operand], StoredMatrix(rows, columns, strides),
        batches.strides[operand], alignmentOf(plan, products, operand)};
  };
  MatmulShape shape{plan.m,
                    plan.n,
                    plan.k,
                    batches.size,
                    matrix(0, plan.m, plan.k, plan.a),
                    matrix(1, plan.k, plan.n, plan.b),
                    matrix(C, plan.m, plan.n, plan.c),
                    /*epilogue=*/std::nullopt};
  const Matmul *matmul = nullptr;
  if (epilogue)
    shape.epilogue = fitEpilogue(plan, products, batches, calls, *epilogue);
  if (shape.epilogue && !(matmul = Matmul::get(shape)))
    shape.epilogue.reset();
  if (!matmul && !(matmul = Matmul::get(shape)))
    return Ran::Nothing;
  auto at = [&](size_t operand, int64_t offset) {
    return products.data[operand] + offset * sizeOf(products.type[operand]);
  };
  const char *bias = nullptr;
  if (shape.epilogue)
    bias = static_cast<const char *>(shape.epilogue->bias);
  forEach<4>(withBias(calls, bias ? epilogue : nullptr),
             [&](const Offsets<4> &call) {
               bool adds = false;
               const void *added =
                   bias ? bias + call[3] * sizeOf(products.type[C]) : nullptr;
               forEach<3>(plan.summed, [&](const Offsets<3> &term) {
                 matmul->run(at(0, call[0] + term[0]), at(1, call[1] + term[1]),
                             at(C, call[C]), added, adds, stream);
                 adds = true;
               });
             });
  return shape.epilogue ? Ran::ProductAndEpilogue : Ran::Product;
}

void runAsLoops(const GemmPlan &plan, const Products &products,
                cudaStream_t stream) {
  LoopProduct loops{products.outer, plan.summed, products.type[0],
                    products.type[C]};
  loops.outer.push_back({plan.m, {plan.a.row, 0, plan.c.row}});
  loops.outer.push_back({plan.n, {0, plan.b.column, plan.c.column}});
  loops.summed.push_back({plan.k, {plan.a.column, plan.b.row, 0}});
  runLoops(loops, products.data[0], products.data[1], products.data[C], stream);
}

} // namespace

bool runGemm(const GemmPlan &plan, ElementType compute, const GemmTensors &t,
             const Epilogue *epilogue) {
  cudaStream_t stream = Device::get().compute();
  constexpr DeviceStaging::Slot slots[] = {
      DeviceStaging::Operand0, DeviceStaging::Operand1, DeviceStaging::Result};
  const std::array<void *, 3> tensors = {const_cast<void *>(t.a),
                                         const_cast<void *>(t.b), t.c};
  Products products{{}, {t.typeA, t.typeB, t.typeC}, {}};
  Loops<3> batch = plan.batch;
  int64_t numBatches = iterations(batch);
  Loops<2> copies[3];
  for (size_t i = 0; i < 3; ++i) {
    products.data[i] = static_cast<char *>(tensors[i]);
    if (!plan.packing[i].packed)
      continue;
    if (i == C)
      products.type[i] = compute;
    copies[i] = packBatches(plan.packing[i], i, batch);
    products.data[i] = DeviceStaging::get().as<char>(
        slots[i],
        numBatches * plan.packing[i].elements * sizeOf(products.type[i]));
    if (i != C)
      copyStrided(copies[i], products.type[i], tensors[i], products.type[i],
                  products.data[i], stream);
  }
  products.outer = std::move(batch);
  products.outer.insert(products.outer.end(), plan.outer.begin(),
                        plan.outer.end());
  products.outer = simplify(std::move(products.outer), /*leader=*/C);
  Ran ran = runMatmuls(plan, products, epilogue, stream);
  if (ran == Ran::Nothing)
    runAsLoops(plan, products, stream);
  if (plan.packing[C].packed)
    copyStrided(reversed(copies[C]), compute, products.data[C], t.typeC,
                tensors[C], stream);
  return ran == Ran::ProductAndEpilogue;
}

} // namespace shoal::rt
