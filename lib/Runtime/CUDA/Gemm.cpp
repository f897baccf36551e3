// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Gemm.h"
#include "Device.h"
#include "LoopProduct.h"
#include "Matmul.h"
#include "Products.h"
#include "StridedCopy.h"

namespace shoal::rt {

namespace {

constexpr size_t kC = 2;

int64_t sizeOf(ElementType type) {
  return static_cast<int64_t>(support::elementSize(type));
}

/// The copy of a whole operand: of one batch index, for all of them, which lie
/// one after another in the scratch. Gives them these strides in `batch`.
Loops<2> packBatches(Loops<2> copy, size_t operand, Loops<3> &batch) {
  int64_t stride = iterations(copy);
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
std::optional<MatmulEpilogue> fitEpilogue(const Products &products,
                                          const Loop<3> &batches,
                                          const Loops<3> &calls,
                                          const Epilogue &epilogue) {
  const GemmPlan &plan = products.plan;
  bool isFloat8 = support::isFloat8(products.type[0]);
  if (!plan.summed.empty() || plan.packing[kC] ||
      products.type[kC] == ElementType::F64 ||
      (isFloat8 && epilogue.bias && products.type[kC] == ElementType::F32))
    return std::nullopt; // to f8 with a result of f32, cuBLASLt adds bf16
  bool rowMajor = StoredMatrix(plan.m, plan.n, plan.c).rowMajor;
  auto rows = epilogue.biasStride(plan.m, plan.c.row);
  auto columns = epilogue.biasStride(plan.n, plan.c.column);
  auto batch = epilogue.biasStride(batches.size, batches.strides[kC]);
  if (rowMajor)
    std::swap(rows, columns);
  int64_t dense = rowMajor ? plan.n : plan.m;
  bool isVector = rows && (*rows == 1 || dense == 1) && columns == 0 && batch;
  for (const Loop<3> &call : calls)
    isVector = isVector && epilogue.biasStride(call.size, call.strides[kC]);
  if (epilogue.bias && !isVector)
    return std::nullopt;
  return MatmulEpilogue{epilogue.activation, epilogue.bias, batch.value_or(0)};
}

/// The loops with the bias as another operand.
Loops<4> withBias(const Loops<3> &calls, const Epilogue *epilogue) {
  Loops<4> all;
  for (const Loop<3> &call : calls) {
    const Offsets<3> &at = call.strides;
    int64_t bias =
        epilogue ? epilogue->biasStride(call.size, at[kC]).value_or(0) : 0;
    all.push_back({call.size, {at[0], at[1], at[kC], bias}});
  }
  return all;
}

/// The products as calls of cuBLASLt.
struct MatmulCalls {
  MatmulShape shape;
  /// Around them.
  Loops<3> loops;
};

/// Of operands of f8, the epilogue's scales are a part of the product.
MatmulCalls callsOf(const Products &products, const Epilogue *epilogue) {
  const GemmPlan &plan = products.plan;
  Loops<3> calls = products.outer;
  Loop<3> batches = takeBatches(calls);
  auto matrix = [&](size_t operand, int64_t rows, int64_t columns,
                    MatrixStrides strides) {
    return MatrixBatch{products.type[operand],
                       StoredMatrix(rows, columns, strides),
                       batches.strides[operand], products.alignmentOf(operand)};
  };
  MatmulShape shape{plan.m,
                    plan.n,
                    plan.k,
                    batches.size,
                    matrix(0, plan.m, plan.k, plan.a),
                    matrix(1, plan.k, plan.n, plan.b),
                    matrix(kC, plan.m, plan.n, plan.c),
                    /*epilogue=*/std::nullopt,
                    /*scales=*/{}};
  if (epilogue && support::isFloat8(products.type[0]))
    shape.scales = epilogue->scales;
  if (epilogue)
    shape.epilogue = fitEpilogue(products, batches, calls, *epilogue);
  return {shape, std::move(calls)};
}

enum class Ran { Nothing, Product, ProductAndEpilogue };

/// Nothing if cuBLASLt has no such product, with or without the epilogue.
Ran runMatmuls(const Products &products, void *workspace,
               const Epilogue *epilogue, cudaStream_t stream) {
  const GemmPlan &plan = products.plan;
  auto [shape, calls] = callsOf(products, epilogue);
  const Matmul *matmul = Matmul::get(shape);
  if (!matmul && shape.epilogue) {
    shape.epilogue.reset();
    matmul = Matmul::get(shape);
  }
  if (!matmul)
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
                   bias ? bias + call[3] * sizeOf(products.type[kC]) : nullptr;
               forEach<3>(plan.summed, [&](const Offsets<3> &term) {
                 matmul->run(at(0, call[0] + term[0]), at(1, call[1] + term[1]),
                             at(kC, call[kC]), {added, shape.scales}, adds,
                             workspace, stream);
                 adds = true;
               });
             });
  return shape.epilogue ? Ran::ProductAndEpilogue : Ran::Product;
}

void runAsLoops(const Products &products, cudaStream_t stream) {
  const GemmPlan &plan = products.plan;
  LoopProduct loops{products.outer, plan.summed};
  loops.outer.push_back({plan.m, {plan.a.row, 0, plan.c.row}});
  loops.outer.push_back({plan.n, {0, plan.b.column, plan.c.column}});
  loops.summed.push_back({plan.k, {plan.a.column, plan.b.row, 0}});
  runLoops(loops, products.type[0], products.type[kC], products.data[0],
           products.data[1], products.data[kC], stream);
}

/// A plan's products and the copies of whole operands in front of them, and of
/// the result behind them.
struct PackedProducts {
  Products products;
  std::array<Loops<2>, 3> copies;

  bool isPacked(size_t operand) const {
    return products.plan.packing[operand].has_value();
  }
};

/// What is packed has no memory yet.
PackedProducts layOut(const GemmPlan &plan, ElementType compute,
                      const GemmTensors &t) {
  const std::array<void *, 3> tensors = {const_cast<void *>(t.a),
                                         const_cast<void *>(t.b), t.c};
  PackedProducts packed{{plan, {}, {t.typeA, t.typeB, t.typeC}, {}}, {}};
  Products &products = packed.products;
  Loops<3> batch = plan.batch;
  for (size_t i = 0; i < 3; ++i) {
    products.data[i] = static_cast<char *>(tensors[i]);
    if (!plan.packing[i])
      continue;
    products.data[i] = nullptr;
    if (i == kC)
      products.type[i] = compute;
    packed.copies[i] = packBatches(*plan.packing[i], i, batch);
  }
  products.outer = std::move(batch);
  products.outer.insert(products.outer.end(), plan.outer.begin(),
                        plan.outer.end());
  products.outer = simplify(std::move(products.outer), /*leader=*/kC);
  return packed;
}

/// Gives memory to what is packed and copies the operands.
void packOperands(PackedProducts &packed, const GemmTensors &t,
                  const ProductMemory &memory, cudaStream_t stream) {
  Products &products = packed.products;
  for (size_t i = 0; i < 3; ++i)
    if (packed.isPacked(i))
      products.data[i] = static_cast<char *>(memory.packed[i]);
  for (size_t i : {0, 1})
    if (packed.isPacked(i))
      copyStrided(packed.copies[i], products.type[i], i == 0 ? t.a : t.b,
                  products.type[i], products.data[i], stream);
}

void unpackResult(const PackedProducts &packed, const GemmTensors &t,
                  cudaStream_t stream) {
  const Products &products = packed.products;
  if (packed.isPacked(kC))
    copyStrided(reversed(packed.copies[kC]), products.type[kC],
                products.data[kC], t.typeC, t.c, stream);
}

} // namespace

bool runGemm(const GemmPlan &plan, ElementType compute, const GemmTensors &t,
             const ProductMemory &memory, const Epilogue *epilogue) {
  cudaStream_t stream = Device::get().compute();
  PackedProducts packed = layOut(plan, compute, t);
  packOperands(packed, t, memory, stream);
  if (support::isFloat8(t.typeA))
    widenFloat8(packed.products, memory, stream);
  Ran ran = runMatmuls(packed.products, memory.workspace, epilogue, stream);
  if (ran == Ran::Nothing)
    runAsLoops(packed.products, stream);
  unpackResult(packed, t, stream);
  return ran == Ran::ProductAndEpilogue;
}

std::optional<Applied> runFloat8Gemm(const GemmPlan &plan, ElementType compute,
                                     const GemmTensors &t,
                                     const ProductMemory &memory,
                                     const Epilogue *epilogue) {
  cudaStream_t stream = Device::get().compute();
  PackedProducts packed = layOut(plan, compute, t);
  if (findObstacle(packed.products, deviceCapability()))
    return std::nullopt;
  packOperands(packed, t, memory, stream);
  alignFloat8(packed.products, memory, stream);
  Ran ran = runMatmuls(packed.products, memory.workspace, epilogue, stream);
  if (ran == Ran::Nothing)
    return std::nullopt;
  unpackResult(packed, t, stream);
  bool isDone = ran == Ran::ProductAndEpilogue || !epilogue ||
                (!epilogue->bias && epilogue->activation == Activation::None);
  return Applied{.scales = true, .all = isDone};
}

GemmChoice chooseGemm(const GemmPlan &plan, ElementType compute,
                      const GemmTensors &t, const Epilogue *epilogue,
                      int capability) {
  PackedProducts packed = layOut(plan, compute, t);
  Products &products = packed.products;
  GemmChoice choice{};
  if (support::isFloat8(t.typeA) && support::isFloat8(t.typeB)) {
    choice.obstacle = findObstacle(products, capability);
    if (choice.obstacle)
      products.type[0] = products.type[1] = widenedFloat8(products);
  }
  auto [shape, calls] = callsOf(products, epilogue);
  choice.batches = shape.batches;
  choice.calls = iterations(calls) * iterations(plan.summed);
  choice.types = {products.type[0], products.type[1]};
  choice.hasEpilogue = shape.epilogue.has_value();
  return choice;
}

} // namespace shoal::rt
