// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The operations by which a reduction's results are combined.

#ifndef SHOAL_LIB_CONVERSION_DEVICE_COMBINER_H
#define SHOAL_LIB_CONVERSION_DEVICE_COMBINER_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "shoal/Dialect/Shoal/IR/Algebra.h"

namespace shoal {

/// The operation that makes result `number` of the result's old value and of
/// something that does not depend on it, if it is one that is associative and
/// commutative (float sums of 32 bits and more count as such) and has a neutral
/// element; null otherwise. Sums and products of bf16 and f16 are rounded after
/// every step, so that their order is not free.
mlir::Operation *matchCombiner(mlir::linalg::GenericOp op, unsigned number);

/// The combiner of two other values.
mlir::Value combine(mlir::OpBuilder &builder, mlir::Operation *combiner,
                    mlir::Value lhs, mlir::Value rhs);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_DEVICE_COMBINER_H
