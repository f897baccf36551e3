// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the lowerings of ops with windows share.

#ifndef SHOAL_LIB_CONVERSION_SHOALTOLINALG_WINDOWLOOPS_H
#define SHOAL_LIB_CONVERSION_SHOALTOLINALG_WINDOWLOOPS_H

#include "Patterns.h"
#include "shoal/Sharding/Window.h"

namespace shoal {

/// Places along a dimension: row r of a tensor stands at place
/// low + r * distance, of `count` places. Rows beside these are left out.
struct Places {
  int64_t low = 0, distance = 1, count = 0;

  /// The places that the windows of one dimension read, from the first on.
  static Places ofWindows(const WindowDim &window, int64_t windows);
};

/// A tensor of `places[d].count` places in each dimension, that holds the rows
/// of `value` and elsewhere `fill`; `value` itself where that is the same.
mlir::Value spreadRows(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value value, llvm::ArrayRef<Places> places,
                       mlir::TypedAttr fill);

/// window * stride + place * dilation, dimensions of the loops.
mlir::AffineExpr placeOf(const WindowDim &dim, mlir::AffineExpr window,
                         mlir::AffineExpr place);

/// Loops over all windows, and in each over its places. Its inputs are the
/// given ones and, to say how many places there are, a tensor of the window's
/// shape that no one reads.
struct WindowLoops {
  WindowLoops(llvm::ArrayRef<WindowDim> window, mlir::MLIRContext *context);

  /// The loops of windows and of places in dimension d.
  mlir::AffineExpr outer(unsigned d) const;
  mlir::AffineExpr inner(unsigned d) const;
  /// Of an element of the rows that the windows read.
  mlir::AffineMap readMap() const;
  /// Of an element for each window.
  mlir::AffineMap outerMap() const;
  mlir::AffineMap map(llvm::ArrayRef<mlir::AffineExpr> exprs) const;

  /// A reduction over the places, beginning with `inits`, one element for each
  /// window.
  llvm::SmallVector<mlir::Value> reduce(
      mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
      llvm::ArrayRef<mlir::AffineMap> inputMaps, mlir::ValueRange inits,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(
          mlir::OpBuilder &, mlir::ValueRange inputs, mlir::ValueRange sofar)>
          body) const;

  /// i32, inside of a body: the number of the place within the window.
  mlir::Value placeNumber(mlir::OpBuilder &builder, mlir::Location loc) const;

  llvm::SmallVector<WindowDim> window;
  mlir::MLIRContext *context;
};

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_SHOALTOLINALG_WINDOWLOOPS_H
