// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How a kernel's loops are cut into tiles that threads run at the same time: a
// decision on plain values.

#ifndef SHOAL_LIB_CONVERSION_KERNELS_KERNELTILES_H
#define SHOAL_LIB_CONVERSION_KERNELS_KERNELTILES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace shoal {

struct KernelLoop {
  int64_t size;
  /// Whether iterations may run in any order.
  bool isParallel;
  /// Other than 0: tiles are multiples of it, and all alike. What comes behind
  /// has to know their sizes.
  int64_t unit = 0;
};

/// The size of a tile along each loop, outermost first, 0 where it is not cut;
/// empty where the kernel is too small. `bytes` is what the whole kernel costs,
/// as the bytes that take as long to move. The number of tiles does not depend
/// on the number of threads, nor is any reduction cut: so results do not,
/// either.
llvm::SmallVector<int64_t> chooseKernelTiles(llvm::ArrayRef<KernelLoop> loops,
                                             double bytes);

/// The same of the outer loops, with `rows` iterations, of several ops that run
/// one after another in each tile: a tile's part of the `bytes` that they touch
/// fits a core's second cache, and all tiles are alike. Empty where the
/// `shared` bytes, which more than one of them touches, are in that cache
/// anyway, and where tiles would be unequal or too large for it.
llvm::SmallVector<int64_t> chooseRowTiles(llvm::ArrayRef<int64_t> rows,
                                          int64_t shared, int64_t bytes);

/// How many tiles that makes.
int64_t countTiles(llvm::ArrayRef<KernelLoop> loops,
                   llvm::ArrayRef<int64_t> tiles);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_KERNELS_KERNELTILES_H
