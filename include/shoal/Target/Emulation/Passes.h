// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Kernels of a GPU as functions of the host, for the emulated device of the
// tests.

#ifndef SHOAL_TARGET_EMULATION_PASSES_H
#define SHOAL_TARGET_EMULATION_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shoal {

/// Marks functions that were kernels.
inline constexpr llvm::StringLiteral kKernelAttr = "shoal.kernel";

#define GEN_PASS_DECL
#include "shoal/Target/Emulation/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "shoal/Target/Emulation/Passes.h.inc"

} // namespace shoal

#endif // SHOAL_TARGET_EMULATION_PASSES_H
