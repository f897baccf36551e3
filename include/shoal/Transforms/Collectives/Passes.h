// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Per-device programs: fewer and cheaper collectives, and the proof that all
// devices run the same ones.

#ifndef SHOAL_TRANSFORMS_COLLECTIVES_PASSES_H
#define SHOAL_TRANSFORMS_COLLECTIVES_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "shoal/Transforms/Options/PartitionOptions.h"

namespace shoal {

#define GEN_PASS_DECL
#include "shoal/Transforms/Collectives/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "shoal/Transforms/Collectives/Passes.h.inc"

} // namespace shoal

#endif // SHOAL_TRANSFORMS_COLLECTIVES_PASSES_H
