// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// From ops of shoal and spmd on tensors to linalg and calls of the runtime.

#ifndef SHOAL_CONVERSION_SHOALTOLINALG_PASSES_H
#define SHOAL_CONVERSION_SHOALTOLINALG_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shoal {

#define GEN_PASS_DECL
#include "shoal/Conversion/ShoalToLinalg/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "shoal/Conversion/ShoalToLinalg/Passes.h.inc"

/// From ops of shoal and spmd on tensors to linalg and calls of the runtime.
void buildShoalToLinalgPipeline(mlir::OpPassManager &pm);

} // namespace shoal

#endif // SHOAL_CONVERSION_SHOALTOLINALG_PASSES_H
