// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Arithmetic that all targets compute alike.

#ifndef SHOAL_CONVERSION_SCALARS_PASSES_H
#define SHOAL_CONVERSION_SCALARS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shoal {

#define GEN_PASS_DECL
#include "shoal/Conversion/Scalars/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "shoal/Conversion/Scalars/Passes.h.inc"

struct ScalarsOptions {
  /// Transcendental functions of f32 by polynomials: those of the target are
  /// slow, or calls.
  bool approximate = false;
  /// The target converts between bf16 and f32 itself.
  bool keepConversions = false;
};

/// Arithmetic whose values do not depend on the target: that of narrow floats
/// in f32, rounded after every operation; divisions that do not trap. For a
/// pass manager of functions.
void buildScalarsPipeline(mlir::OpPassManager &pm,
                          const ScalarsOptions &options);

} // namespace shoal

#endif // SHOAL_CONVERSION_SCALARS_PASSES_H
