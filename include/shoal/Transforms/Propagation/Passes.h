// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Passes that choose the sharding of every value, and say why.

#ifndef SHOAL_TRANSFORMS_PROPAGATION_PASSES_H
#define SHOAL_TRANSFORMS_PROPAGATION_PASSES_H

#include "mlir/Pass/Pass.h"
#include "shoal/Machine/Machine.h"
#include "shoal/Sharding/SearchEffort.h"
#include "shoal/Transforms/Options/PartitionOptions.h"

namespace shoal {

#define GEN_PASS_DECL
#include "shoal/Transforms/Propagation/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "shoal/Transforms/Propagation/Passes.h.inc"

} // namespace shoal

#endif // SHOAL_TRANSFORMS_PROPAGATION_PASSES_H
