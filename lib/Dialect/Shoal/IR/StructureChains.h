// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the patterns of StructureChains.cpp and StructureConcatenations.cpp
// share.

#ifndef SHOAL_LIB_DIALECT_SHOAL_IR_STRUCTURECHAINS_H
#define SHOAL_LIB_DIALECT_SHOAL_IR_STRUCTURECHAINS_H

#include "mlir/IR/PatternMatch.h"
#include "shoal/Dialect/Shoal/IR/StructureOps.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"

namespace shoal {

inline bool hasUnitStrides(SliceOp op) {
  return llvm::all_of(op.getStrides(),
                      [](int64_t stride) { return stride == 1; });
}

/// Puts the parts, side by side along `dim`, in the op's place.
inline void replaceByParts(mlir::PatternRewriter &rewriter, mlir::Operation *op,
                           llvm::ArrayRef<mlir::Value> parts, int64_t dim) {
  if (parts.size() == 1)
    rewriter.replaceOp(op, parts);
  else
    rewriter.replaceOpWithNewOp<ConcatenateOp>(op, op->getResult(0).getType(),
                                               parts, dim);
}

} // namespace shoal

#endif // SHOAL_LIB_DIALECT_SHOAL_IR_STRUCTURECHAINS_H
