// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scratch of products, by what its pieces are for.

#ifndef SHOAL_LIB_RUNTIME_COMMON_PRODUCTMEMORY_H
#define SHOAL_LIB_RUNTIME_COMMON_PRODUCTMEMORY_H

#include "Scratch.h"
#include "shoal/Products/ProductScratch.h"

namespace shoal::rt {

/// The call's first piece, of the bytes that the compiler provides for it.
inline char *takeFirstPiece(void *scratch, int64_t bytes, bool onDevice) {
  return products::firstPiece(Scratch(scratch, bytes).take(bytes), onDevice);
}

/// Of one product of a call whose first piece is at `base`.
class ProductMemory {
public:
  ProductMemory(char *base, const products::ProductScratch &scratch)
      : base(base), scratch(scratch) {}

  void *prepared(size_t operand) const {
    return base + scratch.prepared[operand];
  }
  /// Of an operand, or the result, 2.
  void *packed(size_t tensor) const { return base + scratch.packed[tensor]; }
  void *aligned(size_t operand) const { return base + scratch.aligned[operand]; }
  void *workspace() const { return base + scratch.workspace; }

private:
  char *base;
  products::ProductScratch scratch;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COMMON_PRODUCTMEMORY_H
