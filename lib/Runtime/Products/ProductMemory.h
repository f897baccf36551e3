// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scratch of products, in its pieces.

#ifndef SHOAL_LIB_RUNTIME_PRODUCTS_PRODUCTMEMORY_H
#define SHOAL_LIB_RUNTIME_PRODUCTS_PRODUCTMEMORY_H

#include "../Memory/Scratch.h"
#include "shoal/Products/ProductScratch.h"

namespace shoal::rt {

/// Null for what a product has not.
using ProductMemory = products::ProductPieces<void *>;

ProductMemory takeMemory(Scratch &scratch,
                         const products::ProductScratch &pieces, bool onDevice);

struct EinsumMemory {
  /// For whole operands, and the result, in the type that is computed in.
  std::array<void *, 3> wide = {};
  ProductMemory product;
};

EinsumMemory takeMemory(Scratch &scratch, const products::EinsumScratch &pieces,
                        bool onDevice);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_PRODUCTS_PRODUCTMEMORY_H
