// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The laws that all collectives share.

#ifndef SHOAL_LIB_DIALECT_SPMD_IR_SPMDVERIFIERS_H
#define SHOAL_LIB_DIALECT_SPMD_IR_SPMDVERIFIERS_H

#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"

namespace shoal::spmd {

/// (P1), (P2): the mesh, and the axes on it; null after an error.
MeshOp verifyMesh(mlir::Operation *op, mlir::FlatSymbolRefAttr symbol,
                  mlir::ArrayRef<AxesAttr> lists);

} // namespace shoal::spmd

#endif // SHOAL_LIB_DIALECT_SPMD_IR_SPMDVERIFIERS_H
