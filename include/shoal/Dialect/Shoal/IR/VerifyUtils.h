// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the verifiers of the dialects have in common. The checks report an
// error of `op` where they fail.

#ifndef SHOAL_DIALECT_SHOAL_IR_VERIFYUTILS_H
#define SHOAL_DIALECT_SHOAL_IR_VERIFYUTILS_H

#include "shoal/Dialect/Shoal/IR/Shoal.h"

namespace shoal {

inline mlir::RankedTensorType tensorTypeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// `dim` is a dimension of a tensor of rank `rank`. `name` says which number it
/// is, as "axis" or "dims[1]".
llvm::LogicalResult verifyDim(mlir::Operation *op, const llvm::Twine &name,
                              int64_t dim, int64_t rank);

/// Each entry is a dimension of a tensor of rank `rank`, and none occurs twice.
llvm::LogicalResult verifyDistinctDims(mlir::Operation *op,
                                       llvm::StringRef name,
                                       llvm::ArrayRef<int64_t> dims,
                                       int64_t rank);

/// `name` has an entry per dimension.
llvm::LogicalResult verifyEntryCount(mlir::Operation *op, llvm::StringRef name,
                                     int64_t count, int64_t rank);

/// `what`, as "result 0" or "operand 1", has this shape or element type.
llvm::LogicalResult verifyShape(mlir::Operation *op, const llvm::Twine &what,
                                mlir::Value value,
                                llvm::ArrayRef<int64_t> expected);
llvm::LogicalResult verifyElementType(mlir::Operation *op,
                                      const llvm::Twine &what,
                                      mlir::Value value, mlir::Type expected);
llvm::LogicalResult verifyResult(mlir::Operation *op, unsigned i,
                                 llvm::ArrayRef<int64_t> shape,
                                 mlir::Type element);

/// and and or go with integers; sum, prod, max and min with all but i1, sum and
/// prod not with floats of 8 bits.
llvm::LogicalResult verifyCombiner(mlir::Operation *op, ReduceKind kind,
                                   mlir::Type element);

/// What a custom call names can be a symbol, and is none of the runtime's;
/// `config` can be a text of C.
llvm::LogicalResult verifyCustomCall(mlir::Operation *op,
                                     llvm::StringRef target,
                                     llvm::StringRef config);

/// A key of random numbers: two words.
llvm::LogicalResult verifyKey(mlir::Operation *op, const llvm::Twine &what,
                              mlir::Value key);

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_VERIFYUTILS_H
