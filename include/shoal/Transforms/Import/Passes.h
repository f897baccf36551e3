// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Passes that bring a program into the form that propagation reads.

#ifndef SHOAL_TRANSFORMS_IMPORT_PASSES_H
#define SHOAL_TRANSFORMS_IMPORT_PASSES_H

#include "mlir/Pass/Pass.h"

namespace shoal {

#define GEN_PASS_DECL
#include "shoal/Transforms/Import/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "shoal/Transforms/Import/Passes.h.inc"

} // namespace shoal

#endif // SHOAL_TRANSFORMS_IMPORT_PASSES_H
