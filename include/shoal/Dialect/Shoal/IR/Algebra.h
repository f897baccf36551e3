// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What ReduceKind.h says of reductions, as constants and ops of arith.

#ifndef SHOAL_DIALECT_SHOAL_IR_ALGEBRA_H
#define SHOAL_DIALECT_SHOAL_IR_ALGEBRA_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "shoal/Sharding/ReduceKind.h"

namespace shoal {

/// What a reduction of elements of `type` starts with.
mlir::TypedAttr getIdentity(ReduceKind kind, mlir::Type type);
mlir::TypedAttr getIdentity(mlir::arith::AtomicRMWKind kind, mlir::Type type);

/// What changes no element of `type` that it is combined with.
mlir::TypedAttr getNeutralElement(ReduceKind kind, mlir::Type type);
/// The same of an op of arith on scalars; null where it is none that combines.
mlir::TypedAttr getNeutralElement(mlir::Operation *combiner);

/// The type in which `kind` over elements of `type` is accumulated: f32 for
/// sums and products of floats of 16 and 8 bits, else `type`.
mlir::Type getAccumulator(ReduceKind kind, mlir::Type type);

/// Combines two values of one type, scalars or tensors. `flags` are those of
/// sums and products of floats.
mlir::Value
createCombiner(mlir::OpBuilder &builder, mlir::Location loc, ReduceKind kind,
               mlir::Value lhs, mlir::Value rhs,
               mlir::arith::FastMathFlags flags = mlir::arith::FastMathFlags());

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_ALGEBRA_H
