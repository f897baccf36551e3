// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Fewer and larger ops on tensors.

#ifndef SHOAL_CONVERSION_FUSION_PASSES_H
#define SHOAL_CONVERSION_FUSION_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "shoal/Machine/Machine.h"

namespace shoal {

#define GEN_PASS_DECL
#include "shoal/Conversion/Fusion/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "shoal/Conversion/Fusion/Passes.h.inc"

/// Fewer and larger ops on tensors. On a device, where each op is a launch,
/// matrix products also take biases and activations.
void buildFusionPipeline(mlir::OpPassManager &pm, MachineKind machine);

} // namespace shoal

#endif // SHOAL_CONVERSION_FUSION_PASSES_H
