// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The part of an op on buffers that some of its iterations make: what
// --shoal-tile-for-threads and --shoal-tile-transposes cut kernels into.
//
// How far a part reaches in an operand follows from the operand's map and the
// bounds of the loops alone, whatever the op is: of a window's rows
// (i, k) -> 2 * i + k, 8 windows of 3 places from window b on read the 17 rows
// from 2 * b on; of windows read from their end, (i, k) -> i - k + 2, 8 of them
// the 10 rows from b on; of reversed rows i -> 63 - i, the 8 rows from 56 - b
// on.

#ifndef SHOAL_LIB_CONVERSION_KERNELS_LOOPBOX_H
#define SHOAL_LIB_CONVERSION_KERNELS_LOOPBOX_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace shoal {

//===----------------------------------------------------------------------===//
// Reach: on maps alone
//===----------------------------------------------------------------------===//

/// The least and the largest value of a subscript.
struct Reach {
  int64_t low, high;

  int64_t extent() const { return high - low + 1; }
  bool operator==(const Reach &) const = default;
};

/// Of a subscript while loop l makes `sizes[l]` >= 1 steps from 0 on. Exact
/// where each loop occurs once in it, as in all maps of linalg that are made
/// here; else an interval that holds it.
Reach reachOf(mlir::AffineExpr subscript, llvm::ArrayRef<int64_t> sizes);

/// By how much a step of `loop` moves the subscript; nothing where that is not
/// the same at every place (a remainder, a quotient).
std::optional<int64_t> stepOf(mlir::AffineExpr subscript, unsigned loop);

/// How a loop may be cut.
enum class LoopCut {
  /// Not at all: a subscript moves unevenly with it.
  None,
  /// Into parts of one size: a subscript runs backwards, and where a part
  /// begins depends on how long it is.
  Equal,
  /// Into any.
  Any
};
LoopCut cutOf(llvm::ArrayRef<mlir::AffineMap> maps, unsigned loop);

//===----------------------------------------------------------------------===//
// Parts of ops
//===----------------------------------------------------------------------===//

/// Some iterations of an op.
struct LoopBox {
  /// By loop, where it begins and how many steps it makes.
  llvm::SmallVector<mlir::OpFoldResult> begins, sizes;

  /// All iterations.
  static LoopBox all(mlir::linalg::LinalgOp op);
  /// Keeps of a loop of `range` steps those from `begin` on, `size` of them or
  /// what is left.
  void cut(mlir::OpBuilder &builder, mlir::Location loc, unsigned loop,
           mlir::OpFoldResult begin, int64_t size, int64_t range);
};

/// A copy of an op on static buffers that makes the iterations of `box` alone,
/// on the parts of the operands that these reach. Its loops are cut as cutOf
/// allows.
mlir::linalg::LinalgOp emitBox(mlir::OpBuilder &builder,
                               mlir::linalg::LinalgOp op, const LoopBox &box);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_KERNELS_LOOPBOX_H
