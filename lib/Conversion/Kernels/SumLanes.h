// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sums along the innermost loop of a linalg op, in lanes.

#ifndef SHOAL_LIB_CONVERSION_KERNELS_SUMLANES_H
#define SHOAL_LIB_CONVERSION_KERNELS_SUMLANES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace shoal {

/// Whether LLVM may choose the order of what the op is one step of.
bool mayBeReassociated(mlir::Operation *op);

/// How the terms of an op's sums are added up. The loops of the op alone decide
/// it, and not its body: what is fused into a sum changes none of its bits.
/// Term j of the innermost loop, of every step of the reduced loops around it,
/// is added to lane j mod `lanes`; then the upper half of the lanes is added to
/// the lower one until one is left, and that to what the result was before.
struct SumLanes {
  int64_t lanes;
  /// Lanes of one vector; divides `lanes`.
  int64_t width;
  /// The first of the reduced loops that are the op's last.
  unsigned firstReduced;
  /// By init: the op that adds to it, null for what is stored element by
  /// element.
  llvm::SmallVector<mlir::Operation *> combiners;
};

/// Null for ops whose innermost loop is no reduction that may be reassociated,
/// and those of kSequentialTerms or fewer: their terms are added one after the
/// other.
std::optional<SumLanes> planSumLanes(mlir::linalg::GenericOp op);

/// Whether `width` steps of the innermost loop can be one of vectors: else the
/// lanes are filled one by one.
bool hasVectorBody(mlir::linalg::GenericOp op, const SumLanes &sums);

/// Replaces the op, on memrefs, by loops.
void emitSumLanes(mlir::linalg::GenericOp op, const SumLanes &sums);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_KERNELS_SUMLANES_H
