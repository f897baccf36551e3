// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// From loops and calls of the runtime to LLVM's dialect for the host.

#ifndef SHOAL_CONVERSION_TOLLVM_PASSES_H
#define SHOAL_CONVERSION_TOLLVM_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shoal {

#define GEN_PASS_DECL
#include "shoal/Conversion/ToLLVM/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "shoal/Conversion/ToLLVM/Passes.h.inc"

/// From loops and scalars, and calls of the runtime, to LLVM's dialect for the
/// host.
void buildToLLVMPipeline(mlir::OpPassManager &pm);

} // namespace shoal

#endif // SHOAL_CONVERSION_TOLLVM_PASSES_H
