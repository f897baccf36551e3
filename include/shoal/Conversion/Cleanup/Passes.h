// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What phases do between passes that leave something behind.

#ifndef SHOAL_CONVERSION_CLEANUP_PASSES_H
#define SHOAL_CONVERSION_CLEANUP_PASSES_H

#include "mlir/Pass/Pass.h"

namespace shoal {

#define GEN_PASS_DECL
#include "shoal/Conversion/Cleanup/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "shoal/Conversion/Cleanup/Passes.h.inc"

/// Canonicalises, and merges what is equal then.
void addCleanup(mlir::OpPassManager &pm);

} // namespace shoal

#endif // SHOAL_CONVERSION_CLEANUP_PASSES_H
