// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// From tensors to buffers, results in those that the caller gives.

#ifndef SHOAL_CONVERSION_BUFFERS_PASSES_H
#define SHOAL_CONVERSION_BUFFERS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shoal {

/// Marks an argument that is the memory of a result, which nobody reads before
/// the function has written it.
inline constexpr llvm::StringLiteral kResultAttr = "shoal.result";

#define GEN_PASS_DECL
#include "shoal/Conversion/Buffers/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "shoal/Conversion/Buffers/Passes.h.inc"

/// From tensors to buffers; results lie in those that the caller gives.
void buildBuffersPipeline(mlir::OpPassManager &pm);

} // namespace shoal

#endif // SHOAL_CONVERSION_BUFFERS_PASSES_H
