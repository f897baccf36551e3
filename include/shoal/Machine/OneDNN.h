// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// oneDNN on a CPU, beside the numbers of Machine.h, which are of BLAS.

#ifndef SHOAL_MACHINE_ONEDNN_H
#define SHOAL_MACHINE_ONEDNN_H

#include <cstdint>

namespace shoal {

/// What a CPU has oneDNN for: nothing, products of f32, or of bf16, too, for
/// which its CPU has a unit.
enum class OneDNN { None, F32, BF16 };

/// A core with AVX-512, twice as wide as Machine.h's;
/// docs/internals/Products.md.
struct OneDNNRates {
  /// Operations a second of products of f32, and of bf16. [measured]
  double flops = 1.2e11, narrowFlops = 2.4e11;
  /// Multiplications of a product of f32 from which on BLAS is slower.
  /// [measured]
  int64_t leastTerms = 8192;
};

} // namespace shoal

#endif // SHOAL_MACHINE_ONEDNN_H
