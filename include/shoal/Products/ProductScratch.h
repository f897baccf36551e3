// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory that a product has for its own length (shoal/Calls/Scratch.h):
// what is prepared, packed and converted lies there. The compiler adds up how
// many bytes that are, the runtime takes the pieces in the same order.

#ifndef SHOAL_PRODUCTS_PRODUCTSCRATCH_H
#define SHOAL_PRODUCTS_PRODUCTSCRATCH_H

#include "shoal/Products/PlanEinsum.h"

namespace shoal::products {

/// Bytes that each product of cuBLASLt may use: what it asks for on Hopper;
/// others take less.
inline constexpr int64_t workspaceBytes = int64_t(32) << 20;

/// One value for each piece of memory.
template <typename Piece>
struct ProductPieces {
  std::array<Piece, 2> prepared = {};
  /// Operands and result: on a CPU of one batch index, on a device of all.
  std::array<Piece, 3> packed = {};
  /// On a CPU: the results of parts of the terms, but for the first one's.
  Piece parts = {};
  /// Of a device: operands of f8 with their sums dense, in 8 or in 16 bits.
  std::array<Piece, 2> aligned = {};
  /// Of a device: for cuBLASLt.
  Piece workspace = {};

  /// What f makes of each piece, one after the other.
  template <typename F>
  auto map(F &&f) const {
    using Made = decltype(f(workspace));
    return ProductPieces<Made>{{f(prepared[0]), f(prepared[1])},
                               {f(packed[0]), f(packed[1]), f(packed[2])},
                               f(parts),
                               {f(aligned[0]), f(aligned[1])},
                               f(workspace)};
  }
};

/// Bytes; 0 of a piece that the product has not.
using ProductScratch = ProductPieces<int64_t>;

/// Of a product without whole conversions.
ProductScratch scratchOf(const ProductTypes &inside, const ProductPlan &plan);

/// What pieces of so many bytes take together.
int64_t sumOf(const ProductScratch &scratch);

struct EinsumScratch {
  /// Whole operands and the result in the type that is computed in: where types
  /// are converted, and on a device sums of narrow floats that are to be
  /// scaled.
  std::array<int64_t, 3> wide = {};
  ProductScratch product;
};

EinsumScratch scratchOf(const EinsumCall &call);

/// Pieces of a device begin at such multiples within theirs, as what cudaMalloc
/// gives: algorithms of cuBLASLt may depend on it.
inline constexpr int64_t deviceAlignment = 256;

} // namespace shoal::products

namespace shoal::calls {

/// None for a plan of the other kind of machine.
int64_t scratchBytes(const EinsumCall &call, bool onDevice);

} // namespace shoal::calls

#endif // SHOAL_PRODUCTS_PRODUCTSCRATCH_H
