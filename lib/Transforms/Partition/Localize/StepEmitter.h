// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_TRANSFORMS_PARTITION_LOCALIZE_STEPEMITTER_H
#define SHOAL_LIB_TRANSFORMS_PARTITION_LOCALIZE_STEPEMITTER_H

#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Sharding/Mesh.h"

namespace shoal {

/// Writes the collective, or the local op, of a reshard of one step: from the
/// local value `input` of its operand to that of its result.
mlir::Value emitStep(mlir::OpBuilder &builder, const Mesh &mesh, ReshardOp op,
                     mlir::Value input);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_PARTITION_LOCALIZE_STEPEMITTER_H
