// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A gather as loops that read memory through indices.

#ifndef SHOAL_LIB_CONVERSION_FUSION_GATHERLOOPS_H
#define SHOAL_LIB_CONVERSION_FUSION_GATHERLOOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "shoal/Dialect/Rt/IR/Rt.h"

namespace shoal {

/// A `linalg.generic` at the builder's place that computes what `gather`
/// does, in the shape of `type`, which has as many elements: its loops are the
/// dimensions of `type`, its inputs the starts of windows, its body clamps
/// these as the runtime does and reads the operand as a tensor of rank 1. Null
/// where a dimension of `type` is no single loop of the gather, or where there
/// are no elements.
mlir::linalg::GenericOp makeGatherLoops(mlir::OpBuilder &builder,
                                        rt::GatherOp gather,
                                        mlir::RankedTensorType type);

/// Bytes that each window has next to each other, in the operand and in the
/// result.
int64_t countRowBytes(rt::GatherOp gather);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_FUSION_GATHERLOOPS_H
