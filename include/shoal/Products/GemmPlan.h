// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choosing matrix products for a contraction.
//
// A matrix product C[m,n] += A[m,k] B[k,n] of BLAS takes one loop of rows, one
// of columns and one summed loop, where in each matrix one of its two loops is
// dense. Neighbouring loops merge into one where all operands allow it; what
// does not merge stays a loop around the product. Packing an operand (a copy,
// for one batch index at a time) makes all its loops merge, at the price of the
// copy. All eight choices of what to pack and all choices of loops are priced
// by a model of time and the cheapest is taken.
//
// cuBLASLt takes the same products, with a further loop of batches of constant
// strides; there a whole operand is packed at once.

#ifndef SHOAL_PRODUCTS_GEMMPLAN_H
#define SHOAL_PRODUCTS_GEMMPLAN_H

#include "shoal/Machine/Machine.h"
#include "shoal/Machine/OneDNN.h"
#include "shoal/Products/EinsumSpec.h"

#include <functional>
#include <optional>

namespace shoal::products {

using calls::GemmPlan;
using calls::MatrixStrides;
using calls::ProductLibrary;

/// What products cost on a machine. Only ratios matter, and they need not be
/// exact.
struct ProductModel {
  double flopsPerSecond;
  double bytesPerSecond;
  double secondsPerCall;
  double loopTermsPerSecond;
  double secondsPerLoopCall;
  /// One call does all batches and outer loops, on bf16 and f16 too.
  bool isDevice;
  /// One call does them where nothing is packed.
  bool takesBatches = false;
  /// Of a CPU: what oneDNN is for, and what it does in a second.
  OneDNN oneDNN = OneDNN::None;
  OneDNNRates oneDNNRates = {};
};

constexpr ProductModel modelOf(const Machine &machine,
                               OneDNN oneDNN = OneDNN::None) {
  return {.flopsPerSecond = machine.flops,
          .bytesPerSecond = machine.memoryBytes,
          .secondsPerCall = machine.callSeconds,
          .loopTermsPerSecond = machine.loopTerms,
          .secondsPerLoopCall = machine.loopCallSeconds,
          .isDevice = machine.isDevice,
          .oneDNN = machine.isDevice ? OneDNN::None : oneDNN};
}
inline constexpr ProductModel cpuModel = modelOf(cpuMachine);
inline constexpr ProductModel deviceModel = modelOf(gpuMachine);

struct PricedGemm {
  GemmPlan plan;
  /// Seconds, by the model.
  double seconds = 0;
};

/// Which plans may be chosen; empty for all.
using GemmFilter = std::function<bool(const GemmPlan &)>;

/// The cheapest plan in which every operand of `mustPack` is packed; none if
/// no choice of loops has dense enough matrices. Loops have sizes above 1.
std::optional<PricedGemm> planGemm(const Contraction &contraction,
                                   const std::array<bool, 3> &mustPack,
                                   int64_t elementBytes,
                                   const ProductModel &model = cpuModel,
                                   const GemmFilter &filter = {});

/// The model's price in seconds of the same contraction by loops.
double loopSeconds(const Contraction &contraction,
                   const ProductModel &model = cpuModel);

/// True if a library can take a matrix with these sizes and strides: one loop
/// dense, the other a leading dimension, all within an int.
bool isMatrix(int64_t rows, int64_t columns, MatrixStrides strides);

/// How a matrix of rows x columns, a matrix for isMatrix, lies in memory.
struct StoredMatrix {
  bool rowMajor;
  /// The leading dimension; the dense size where it is not used.
  int64_t leading;

  StoredMatrix(int64_t rows, int64_t columns, MatrixStrides strides) {
    rowMajor = (strides.column == 1 || columns == 1) &&
               (rows == 1 || strides.row >= columns);
    int64_t dense = rowMajor ? columns : rows;
    int64_t outer = rowMajor ? rows : columns;
    leading = outer == 1 ? dense : rowMajor ? strides.row : strides.column;
  }
};

/// The tensors of a plan, with their element types. On a CPU, types that the
/// library does not take are packed in the plan.
struct GemmTensors {
  const void *a;
  ElementType typeA;
  const void *b;
  ElementType typeB;
  void *c;
  ElementType typeC;
};

} // namespace shoal::products

#endif // SHOAL_PRODUCTS_GEMMPLAN_H
