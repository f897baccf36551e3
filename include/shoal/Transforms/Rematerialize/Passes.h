// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that lets backward passes compute again what they would hold.

#ifndef SHOAL_TRANSFORMS_REMATERIALIZE_PASSES_H
#define SHOAL_TRANSFORMS_REMATERIALIZE_PASSES_H

#include "mlir/Pass/Pass.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "shoal/Transforms/Options/PartitionOptions.h"
#include "shoal/Transforms/Rematerialize/Rematerialize.h"

namespace shoal {

#define GEN_PASS_DECL
#include "shoal/Transforms/Rematerialize/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "shoal/Transforms/Rematerialize/Passes.h.inc"

/// Reads the options `remat`, `remat-collectives` and `memory-limit`; an error
/// at `loc` where they are malformed.
mlir::FailureOr<RematerializeSettings>
readRematerializeSettings(llvm::StringRef policy, llvm::StringRef collectives,
                          llvm::StringRef limit, MachineKind machine,
                          mlir::Location loc);

} // namespace shoal

#endif // SHOAL_TRANSFORMS_REMATERIALIZE_PASSES_H
