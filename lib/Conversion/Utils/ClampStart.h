// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Where a window begins whose start is a value.

#ifndef SHOAL_LIB_CONVERSION_UTILS_CLAMPSTART_H
#define SHOAL_LIB_CONVERSION_UTILS_CLAMPSTART_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace shoal {

/// The start, an integer, as an index inside [0, last], as the runtime clamps
/// it.
inline mlir::Value clampStart(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value start, int64_t last) {
  auto type = mlir::cast<mlir::IntegerType>(start.getType());
  auto constant = [&](int64_t value) {
    return mlir::arith::ConstantOp::create(builder, loc,
                                           builder.getIntegerAttr(type, value));
  };
  start = mlir::arith::MaxSIOp::create(builder, loc, start, constant(0));
  if (llvm::isIntN(type.getWidth(), last))
    start = mlir::arith::MinSIOp::create(builder, loc, start, constant(last));
  return mlir::arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                          start);
}

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_UTILS_CLAMPSTART_H
