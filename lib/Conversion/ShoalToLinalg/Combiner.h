// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reductions as arithmetic on scalars.

#ifndef SHOAL_LIB_CONVERSION_SHOALTOLINALG_COMBINER_H
#define SHOAL_LIB_CONVERSION_SHOALTOLINALG_COMBINER_H

#include "mlir/IR/Builders.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"

namespace shoal {

/// The neutral element of `kind`: for max the smallest value of the type, -inf
/// for floats. On i1 sum and max mean or, prod and min mean and.
mlir::TypedAttr getIdentity(ReduceKind kind, mlir::Type type);

/// Combines two scalars of one type. Sums and products of floats may be
/// reassociated, so that they vectorise; max and min give NaN if either is.
mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc,
                    ReduceKind kind, mlir::Value lhs, mlir::Value rhs);

/// The type in which `kind` over elements of `type` is accumulated: f32 for
/// sums and products of bf16 and f16, else `type`.
mlir::Type getAccumulator(ReduceKind kind, mlir::Type type);

/// `value`, a scalar or a tensor, converted to elements of the wider `type` of
/// its kind (i1 counts 0 and 1), or of a narrower float type.
mlir::Value convertTo(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, mlir::Type elementType);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_SHOALTOLINALG_COMBINER_H
