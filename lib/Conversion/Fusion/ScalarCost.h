// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the scalar operations of a body cost.

#ifndef SHOAL_LIB_CONVERSION_FUSION_SCALARCOST_H
#define SHOAL_LIB_CONVERSION_FUSION_SCALARCOST_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace shoal {

/// Whether to do `op` again takes longer than to load what it computed.
inline bool isExpensive(mlir::Operation &op) {
  return mlir::isa<mlir::math::MathDialect>(op.getDialect()) ||
         mlir::isa<mlir::tensor::ExtractOp, mlir::arith::DivFOp,
                   mlir::arith::RemFOp, mlir::arith::DivSIOp,
                   mlir::arith::DivUIOp, mlir::arith::RemSIOp,
                   mlir::arith::RemUIOp>(op);
}

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_FUSION_SCALARCOST_H
