// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Einsums whose operands are mostly zeros, at the cost of what is not.

#ifndef SHOAL_TRANSFORMS_SPARSE_PASSES_H
#define SHOAL_TRANSFORMS_SPARSE_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "shoal/Transforms/Options/PartitionOptions.h"

namespace shoal {

#define GEN_PASS_DECL
#include "shoal/Transforms/Sparse/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "shoal/Transforms/Sparse/Passes.h.inc"

/// On a per-device function: how einsums with one-hot operands are computed,
/// and why, a string each; absent where there are none.
inline constexpr llvm::StringLiteral kOneHotsAttr = "shoal.one_hots";

/// Models of ElementOpInterface for the ops of all families. An op without one
/// is made of elements that nothing is known of.
void registerElementModels(mlir::DialectRegistry &registry);

} // namespace shoal

#endif // SHOAL_TRANSFORMS_SPARSE_PASSES_H
