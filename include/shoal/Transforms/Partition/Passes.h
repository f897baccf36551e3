// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Partitioning: plan the reshards, then write the program of one device.

#ifndef SHOAL_TRANSFORMS_PARTITION_PASSES_H
#define SHOAL_TRANSFORMS_PARTITION_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Pass/Pass.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"

namespace shoal {

#define GEN_PASS_DECL
#include "shoal/Transforms/Partition/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "shoal/Transforms/Partition/Passes.h.inc"

/// Models of LocalizeOpInterface for the ops whose local form is more than the
/// same op on local types.
void registerLocalizeModels(mlir::DialectRegistry &registry);

} // namespace shoal

#endif // SHOAL_TRANSFORMS_PARTITION_PASSES_H
