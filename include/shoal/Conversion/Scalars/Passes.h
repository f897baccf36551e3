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

} // namespace shoal

#endif // SHOAL_CONVERSION_SCALARS_PASSES_H
