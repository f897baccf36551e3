// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A reduced loop in parts, and the views of buffers that parts have.

#ifndef SHOAL_LIB_CONVERSION_DEVICE_SPLITVIEWS_H
#define SHOAL_LIB_CONVERSION_DEVICE_SPLITVIEWS_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"

namespace shoal {

/// The reduced loop that is cut, into `parts` of `chunk` iterations; those
/// behind the last part are left over.
struct Split {
  unsigned loop;
  int64_t range, parts, chunk;

  int64_t covered() const { return parts * chunk; }
  int64_t rest() const { return range - covered(); }
};

/// The iterations [begin, begin + count) of the loop, of a buffer that is read
/// or written through `map`.
mlir::Value slice(mlir::OpBuilder &builder, mlir::Location loc,
                  mlir::Value buffer, mlir::AffineMap map, unsigned loop,
                  int64_t begin, int64_t count);

/// The covered iterations as two dimensions, part and place in it.
mlir::Value cutIntoParts(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value buffer, mlir::AffineMap map,
                         const Split &split);

/// The same elements by the loops with `part` in front of the cut one.
mlir::AffineMap cutIntoParts(mlir::AffineMap map, const Split &split);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_DEVICE_SPLITVIEWS_H
