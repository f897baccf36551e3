// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Gradients of programs.

#ifndef SHOAL_TRANSFORMS_AUTODIFF_PASSES_H
#define SHOAL_TRANSFORMS_AUTODIFF_PASSES_H

#include "mlir/Pass/Pass.h"

namespace shoal {

/// Adds the models of DifferentiableOpInterface.
void registerDerivativeRules(mlir::DialectRegistry &registry);

#define GEN_PASS_DECL
#include "shoal/Transforms/Autodiff/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "shoal/Transforms/Autodiff/Passes.h.inc"

} // namespace shoal

#endif // SHOAL_TRANSFORMS_AUTODIFF_PASSES_H
