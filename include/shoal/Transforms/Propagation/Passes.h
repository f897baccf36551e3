// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Passes that choose the sharding of every value, and say why.

#ifndef SHOAL_TRANSFORMS_PROPAGATION_PASSES_H
#define SHOAL_TRANSFORMS_PROPAGATION_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "shoal/Machine/Machine.h"
#include "shoal/Sharding/SearchEffort.h"
#include "shoal/Transforms/Options/PartitionOptions.h"
#include <functional>

namespace shoal {

#define GEN_PASS_DECL
#include "shoal/Transforms/Propagation/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "shoal/Transforms/Propagation/Passes.h.inc"

/// Partitions a program whose shardings are chosen, to its end, and says how
/// many bytes a device of it sends.
using CountSentBytes =
    std::function<llvm::FailureOr<int64_t>(mlir::ModuleOp program)>;

/// The pass, which says of changed programs what is sent in the end. Without
/// `countSentBytes` it is what their shardings send, before passes behind it
/// make that less.
std::unique_ptr<mlir::Pass> createAssign(AssignOptions options,
                                         CountSentBytes countSentBytes);

} // namespace shoal

#endif // SHOAL_TRANSFORMS_PROPAGATION_PASSES_H
