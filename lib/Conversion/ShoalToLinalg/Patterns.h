// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the patterns of --shoal-to-linalg share.

#ifndef SHOAL_LIB_CONVERSION_SHOALTOLINALG_PATTERNS_H
#define SHOAL_LIB_CONVERSION_SHOALTOLINALG_PATTERNS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "llvm/ADT/DenseMap.h"

namespace shoal {

/// The numbers of collectives: their places in the metadata's list.
struct ProgramNumbering {
  explicit ProgramNumbering(mlir::ModuleOp module);

  llvm::DenseMap<mlir::Operation *, int64_t> collectives;
  /// Of each number.
  llvm::SmallVector<int64_t> streams;
};

/// What an einsum becomes that is not there, as part of another op.
mlir::Value lowerEinsum(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::StringRef spec, mlir::ValueRange inputs,
                        mlir::RankedTensorType type);

/// Values that a loop writes all of, a row in each trip, before anything reads
/// them begin as they come, not as a constant: what a scan stacks, and what a
/// gradient keeps of each trip.
void leaveWrittenRowsUnset(mlir::ModuleOp module);

/// Loops and branches, with what they have become inside.
void lowerControlFlow(mlir::ModuleOp module);

/// A tensor of unspecified contents.
mlir::Value makeEmpty(mlir::OpBuilder &builder, mlir::Location loc,
                      llvm::ArrayRef<int64_t> shape, mlir::Type elementType);
/// A tensor that holds `value` everywhere.
mlir::Value makeFilled(mlir::OpBuilder &builder, mlir::Location loc,
                       llvm::ArrayRef<int64_t> shape, mlir::TypedAttr value);

/// A tensor of `type` that holds the element of `scalar`, a tensor of rank 0
/// and maybe of another element type, everywhere. The element is read where it
/// is written, on the device.
mlir::Value makeSpread(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value scalar, mlir::RankedTensorType type);

/// The tensor whose element at (d0, d1, ...) is what `body` makes of the
/// inputs' elements at `maps` of (d0, d1, ...).
mlir::Value makeParallel(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type,
    mlir::ValueRange inputs, llvm::ArrayRef<mlir::AffineMap> maps,
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)> body);
/// The same for one input whose elements are only moved.
mlir::Value makeMoved(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::RankedTensorType type, mlir::Value input,
                      mlir::AffineMap map);

/// What a call writes: tensors of unspecified contents.
mlir::Value makeOutput(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Type type);
llvm::SmallVector<mlir::Value> makeOutputs(mlir::OpBuilder &builder,
                                           mlir::Location loc,
                                           mlir::TypeRange types);

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_SHOALTOLINALG_PATTERNS_H
