// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What looks at values while a program runs, where that is asked for.

#ifndef SHOAL_CONVERSION_CHECKS_PASSES_H
#define SHOAL_CONVERSION_CHECKS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace shoal {

#define GEN_PASS_DECL
#include "shoal/Conversion/Checks/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "shoal/Conversion/Checks/Passes.h.inc"

} // namespace shoal

#endif // SHOAL_CONVERSION_CHECKS_PASSES_H
