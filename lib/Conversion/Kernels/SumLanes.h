// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sums of a linalg op in lanes: along its innermost loop, or along one around a
// few innermost elements.

#ifndef SHOAL_LIB_CONVERSION_KERNELS_SUMLANES_H
#define SHOAL_LIB_CONVERSION_KERNELS_SUMLANES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace shoal {

/// Whether LLVM may choose the order of what the op is one step of.
bool mayBeReassociated(mlir::Operation *op);

/// How the terms of an op's sums are added up. The loops of the op alone decide
/// it, and not its body: what is fused into a sum changes none of its bits.
/// The last reduced loop is walked: its term j, of every step of the reduced
/// loops around it, is added to lane j mod `lanes / kept`, of which there is
/// one for each of the `kept` elements that are summed side by side. Then the
/// upper half of the lanes is added to the lower one until `kept` are left, and
/// these to what the result was before.
struct SumLanes {
  int64_t lanes;
  /// Lanes of one vector; divides `lanes`.
  int64_t width;
  /// The reduced loops firstReduced ... walked have none but those of kept
  /// elements behind them.
  unsigned firstReduced, walked;
  /// Elements of the loops behind `walked`, 1 where it is the innermost one.
  int64_t kept;
  /// By init: the op that adds to it, null for what is stored element by
  /// element.
  llvm::SmallVector<mlir::Operation *> combiners;
};

/// Null for ops whose terms are added one after the other: those that may not
/// be reassociated, of kSequentialTerms or fewer, and sums of so many elements
/// side by side that these are vectors enough.
std::optional<SumLanes> planSumLanes(mlir::linalg::GenericOp op);

/// Whether `width` steps of the innermost loop can be one of vectors: else the
/// lanes are filled one by one.
bool hasVectorBody(mlir::linalg::GenericOp op, const SumLanes &sums);

/// Replaces the op, on memrefs, by loops.
void emitSumLanes(mlir::linalg::GenericOp op, const SumLanes &sums);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_KERNELS_SUMLANES_H
