// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Products.h"
#include "Device.h"
#include "StridedCopy.h"

#include <algorithm>
#include <bit>

namespace shoal::rt {

/// What fp8 products of cuBLASLt want pointers, and rows of matrices, to be
/// multiples of, in bytes.
static constexpr int64_t piece = 16;

int64_t Products::alignmentOf(size_t operand) const {
  constexpr uint64_t most = 256;
  uint64_t bits = most | reinterpret_cast<uintptr_t>(data[operand]);
  for (const Loops<3> *loops : {&outer, &plan.summed})
    for (const Loop<3> &loop : *loops)
      bits |= static_cast<uint64_t>(loop.strides[operand] * widthOf(operand));
  return int64_t(1) << std::countr_zero(bits);
}

namespace {

/// A matrix operand's strides: along the sums, and along its rows or columns.
struct OperandStrides {
  int64_t &sums, &free;
  int64_t freeSize;
};

OperandStrides stridesOf(GemmPlan &plan, size_t operand) {
  if (operand == 0)
    return {plan.a.column, plan.a.row, plan.m};
  return {plan.b.row, plan.b.column, plan.n};
}

} // namespace

/// Copies operand 0 or 1 to `memory`, as elements of `type`, so that the loop
/// that its products sum over is dense and all else follows without gaps.
static void packAlongSums(Products &products, size_t operand, ElementType type,
                          void *memory, cudaStream_t stream) {
  GemmPlan &plan = products.plan;
  Loops<2> copy; // the fastest first
  int64_t elements = 1;
  auto place = [&](int64_t size, int64_t &stride) {
    if (stride == 0 && size > 1) // all of this loop read the same
      return;
    copy.push_back({size, {stride, elements}});
    stride = elements;
    elements *= size;
  };
  OperandStrides strides = stridesOf(plan, operand);
  place(plan.k, strides.sums);
  place(strides.freeSize, strides.free);
  for (Loops<3> *loops : {&plan.summed, &products.outer})
    for (size_t l = loops->size(); l-- > 0;)
      place((*loops)[l].size, (*loops)[l].strides[operand]);
  std::reverse(copy.begin(), copy.end());
  copyStrided(std::move(copy), products.type[operand], products.data[operand],
              type, memory, stream);
  products.data[operand] = static_cast<char *>(memory);
  products.type[operand] = type;
}

int deviceCapability() {
  static const int capability = [] {
    int major = 0, minor = 0, gpu = Device::get().ordinal();
    check(api.cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                                     gpu),
          "cudaDeviceGetAttribute");
    check(api.cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor,
                                     gpu),
          "cudaDeviceGetAttribute");
    return 10 * major + minor;
  }();
  return capability;
}

static bool isInPieces(int64_t bytes) { return bytes % piece == 0; }

std::optional<std::string> findObstacle(const Products &products,
                                        int capability) {
  constexpr int ada = 89; // has them first
  const GemmPlan &plan = products.plan;
  using enum ElementType;
  if (products.type[0] == F8E5M2 && products.type[1] == F8E5M2)
    return "both operands are f8E5M2";
  if (products.type[2] == F64)
    return "the result is f64";
  if (capability < ada)
    return "GPUs before sm_89 have none";
  const std::pair<const char *, int64_t> sizes[] = {
      {"rows", plan.m}, {"columns", plan.n}, {"sums", plan.k}};
  for (auto [name, size] : sizes)
    if (size % piece != 0)
      return std::string(name) + ": " + std::to_string(size) +
             " is not a multiple of " + std::to_string(piece);
  StoredMatrix stored(plan.m, plan.n, plan.c);
  if (!isInPieces(stored.leading * products.widthOf(2)) ||
      !isInPieces(products.alignmentOf(2)))
    return "the result does not lie in pieces of " + std::to_string(piece) +
           " bytes";
  return std::nullopt;
}

void alignFloat8(Products &products, const ProductMemory &memory,
                 cudaStream_t stream) {
  for (size_t operand : {0, 1}) {
    OperandStrides strides = stridesOf(products.plan, operand);
    bool isAligned = strides.sums == 1 && isInPieces(strides.free) &&
                     strides.free >= products.plan.k &&
                     isInPieces(products.alignmentOf(operand));
    if (!isAligned)
      packAlongSums(products, operand, products.type[operand],
                    memory.aligned[operand], stream);
  }
}

ElementType widenedFloat8(const Products &products) {
  return products.type[2] == ElementType::F16 ? ElementType::F16
                                              : ElementType::BF16;
}

void widenFloat8(Products &products, const ProductMemory &memory,
                 cudaStream_t stream) {
  ElementType wide = widenedFloat8(products);
  for (size_t operand : {0, 1})
    packAlongSums(products, operand, wide, memory.aligned[operand], stream);
}

} // namespace shoal::rt
