// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory that a product has for its own length: what is prepared, packed
// and converted lies there. The compiler provides it, the runtime looks up
// where the pieces begin.

#ifndef SHOAL_PRODUCTS_PRODUCTSCRATCH_H
#define SHOAL_PRODUCTS_PRODUCTSCRATCH_H

#include "shoal/Products/PlanEinsum.h"

namespace shoal::products {

/// Bytes that each product of cuBLASLt may use: what it asks for on Hopper;
/// others take less.
inline constexpr int64_t workspaceBytes = int64_t(32) << 20;

/// Where pieces begin, in bytes from the call's first one on. Of those that a
/// product has not it says nothing.
struct ProductScratch {
  std::array<int64_t, 2> prepared = {};
  /// Operands and result: on the host of one batch index, on a device of all.
  std::array<int64_t, 3> packed = {};
  /// Of a device: operands of f8 with their sums dense, in 8 or in 16 bits.
  std::array<int64_t, 2> aligned = {};
  /// Of a device: for cuBLASLt.
  int64_t workspace = 0;
  /// Where the last one ends.
  int64_t end = 0;
};

/// Of a product without whole conversions, behind `begin` bytes.
ProductScratch scratchOf(const ProductTypes &inside, const ProductPlan &plan,
                         int64_t begin = 0);

struct EinsumScratch {
  /// Whole operands and the result in the type that is computed in: where types
  /// are converted, and on a device sums of narrow floats that are to be
  /// scaled.
  std::array<int64_t, 3> wide = {};
  /// Behind them.
  ProductScratch product;
};

EinsumScratch scratchOf(const EinsumCall &call);

/// Where pieces of a call on this machine begin: at multiples of so many bytes.
/// What cudaMalloc gives is aligned so, which algorithms of cuBLASLt like.
constexpr int64_t pieceAlignment(bool onDevice) { return onDevice ? 256 : 64; }

/// What the compiler provides for pieces that end there: it aligns for all
/// calls (Scratch.h), which may be less.
int64_t providedBytes(int64_t end, bool onDevice);

/// The first address from `memory` on at which pieces may begin.
char *firstPiece(void *memory, bool onDevice);

} // namespace shoal::products

namespace shoal::calls {

/// None for a plan of the other machine.
int64_t scratchBytes(const EinsumCall &call, bool onDevice);

} // namespace shoal::calls

#endif // SHOAL_PRODUCTS_PRODUCTSCRATCH_H
