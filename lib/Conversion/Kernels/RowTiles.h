// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops on buffers that may run some rows at a time, one op after another, with
// the rows still in the processor's caches. Decided from the ops alone, for
// --shoal-group-rows and for --shoal-tile-for-threads.

#ifndef SHOAL_LIB_CONVERSION_KERNELS_ROWTILES_H
#define SHOAL_LIB_CONVERSION_KERNELS_ROWTILES_H

#include "KernelTiles.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace shoal {

/// Of the outer loops that ops have in common.
struct RowTiles {
  /// Rows in all, and in a tile: 0 where the loop is not cut.
  llvm::SmallVector<int64_t> sizes, tiles;
};

/// The sizes of the outer loops that the ops have in common and that are
/// parallel in each: what one of them writes in an iteration of these the
/// others touch in the same iteration alone. None where there are none, where
/// an op reads its operands in transposed order, or where buffers overlap that
/// are not the same.
llvm::SmallVector<int64_t>
findSharedRows(llvm::ArrayRef<mlir::linalg::LinalgOp> ops);

/// Bytes of the buffers whose rows, as findSharedRows has them, the op touches
/// and one of `others`, too: of those that one of them writes, and of large
/// ones.
int64_t countSharedBytes(mlir::linalg::LinalgOp op,
                         llvm::ArrayRef<mlir::linalg::LinalgOp> others);

/// Tiles of the shared rows, all alike. Nothing where there are no shared rows,
/// where what the ops have in common would be in the caches without tiles, too,
/// or where a row is too long for them.
std::optional<RowTiles>
planRowTiles(llvm::ArrayRef<mlir::linalg::LinalgOp> ops);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_KERNELS_ROWTILES_H
