// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Rewrites of collectives that stand next to each other, by what is left.

#ifndef SHOAL_LIB_TRANSFORMS_COLLECTIVES_SIMPLIFYPATTERNS_H
#define SHOAL_LIB_TRANSFORMS_COLLECTIVES_SIMPLIFYPATTERNS_H

#include "AxisLists.h"
#include "mlir/IR/PatternMatch.h"

namespace shoal {

/// The mesh of a collective.
template <typename Op>
MeshAttr meshOf(Op op) {
  return lookupMesh(op, op.getMeshAttr()).getMesh();
}

/// A value made by an `Op` that no one else reads; null otherwise.
template <typename Op>
Op soleUse(mlir::Value value) {
  auto op = value.getDefiningOp<Op>();
  return op && value.hasOneUse() ? op : Op();
}

inline mlir::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

/// all_slice of an all_gather, an all_reduce, an all_slice.
void populateSlicePatterns(mlir::RewritePatternSet &patterns);
/// all_gather of an all_gather or all_to_all, or beside another all_gather.
void populateGatherPatterns(mlir::RewritePatternSet &patterns);
/// all_reduce of an all_reduce; exchanges there and back.
void populatePairPatterns(mlir::RewritePatternSet &patterns);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_COLLECTIVES_SIMPLIFYPATTERNS_H
