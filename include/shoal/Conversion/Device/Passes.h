// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a GPU wants of linalg ops on buffers: fewer launches, many threads.

#ifndef SHOAL_CONVERSION_DEVICE_PASSES_H
#define SHOAL_CONVERSION_DEVICE_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "shoal/Machine/Machine.h"

namespace shoal {

/// What FuseFills leaves on a linalg op: for each result the constant that it
/// begins with, whatever its buffer holds, or unit.
inline constexpr llvm::StringLiteral kInitialAttr = "shoal.initial";

#define GEN_PASS_DECL
#include "shoal/Conversion/Device/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "shoal/Conversion/Device/Passes.h.inc"

/// Fewer launches of more threads: reductions know their initial values, ops on
/// the same rows are one kernel, long reductions are split, as `machine` wants.
void buildDevicePipeline(mlir::OpPassManager &pm, MachineKind machine);

} // namespace shoal

#endif // SHOAL_CONVERSION_DEVICE_PASSES_H
