// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reductions as arithmetic on scalars.

#ifndef SHOAL_LIB_CONVERSION_SHOALTOLINALG_COMBINER_H
#define SHOAL_LIB_CONVERSION_SHOALTOLINALG_COMBINER_H

#include "mlir/IR/Builders.h"
#include "shoal/Dialect/Shoal/IR/Algebra.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"

namespace shoal {

/// Combines two scalars of one type. Sums and products of floats may be
/// reassociated, so that they vectorise.
mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc,
                    ReduceKind kind, mlir::Value lhs, mlir::Value rhs);

/// `value`, a scalar or a tensor, converted to elements of the wider `type` of
/// its kind (i1 counts 0 and 1), or of a narrower float type.
mlir::Value convertTo(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, mlir::Type elementType);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_SHOALTOLINALG_COMBINER_H
