// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Products of f8 and the factors that programs write around them.

#ifndef SHOAL_LIB_CONVERSION_FUSION_SCALEDPRODUCTS_H
#define SHOAL_LIB_CONVERSION_FUSION_SCALEDPRODUCTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include <optional>
#include <string>

namespace shoal {

/// A factor of a body's value, computed from scalars alone.
struct ScaleFactor {
  /// In the body: the product, which may replace `x`, and the factor.
  mlir::Value product, factor;
};

/// What `x` is multiplied by, if that is all that is done with it and the
/// factor depends on constants, on inputs of one element and on values from
/// outside of the body alone.
std::optional<ScaleFactor> matchScale(mlir::linalg::GenericOp op,
                                      mlir::Value x);

/// The product of factors of `op`, which there is at least one of, as a tensor
/// of rank 0 of f32, computed at the builder's place.
mlir::Value makeScale(mlir::OpBuilder &builder, mlir::linalg::GenericOp op,
                      llvm::ArrayRef<mlir::Value> factors);

/// An operand of f8 that a product's operand is, element by element, but for a
/// conversion and a scale: null, or a tensor as of makeScale.
struct Dequantized {
  mlir::Value input, scale;
};

/// How both operands of an einsum of wider floats are made of f8; else nothing.
/// Scales are computed at the builder's place.
std::optional<std::array<Dequantized, 2>>
matchDequantized(mlir::OpBuilder &builder, rt::EinsumOp product);

/// Why cuBLASLt's products of 8 bits do not take an einsum of f8 on any GPU.
std::optional<std::string> findObstacle(rt::EinsumOp product);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_FUSION_SCALEDPRODUCTS_H
