// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The `spmd` dialect: the collectives of per-device programs.

#ifndef SHOAL_DIALECT_SPMD_IR_SPMD_H
#define SHOAL_DIALECT_SPMD_IR_SPMD_H

#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "shoal/Machine/CollectiveKind.h"
#include "shoal/Sharding/RowMap.h"

#include "shoal/Dialect/Spmd/IR/SpmdDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "shoal/Dialect/Spmd/IR/SpmdAttrs.h.inc"

namespace shoal::spmd {
/// `{"x", "y":(1)2}`.
std::string describeAxes(mlir::MLIRContext *context,
                         llvm::ArrayRef<AxisRefAttr> axes);
} // namespace shoal::spmd

#include "shoal/Dialect/Spmd/IR/SpmdInterfaces.h.inc"

#define GET_OP_CLASSES
#include "shoal/Dialect/Spmd/IR/SpmdOps.h.inc"

#endif // SHOAL_DIALECT_SPMD_IR_SPMD_H
