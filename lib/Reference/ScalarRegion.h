// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs the regions of combiners: one block of ops on scalars.

#ifndef SHOAL_LIB_REFERENCE_SCALARREGION_H
#define SHOAL_LIB_REFERENCE_SCALARREGION_H

#include "mlir/IR/Block.h"
#include "shoal/Reference/ReferenceInterface.h"
#include "llvm/ADT/DenseMap.h"

namespace shoal::reference {

/// A block of scalar ops with a meaning, as a function.
class ScalarRegion {
public:
  explicit ScalarRegion(mlir::Block &block) : block(block) {}

  /// What the terminator yields for these arguments. On failure an error has
  /// been emitted at an op.
  llvm::FailureOr<llvm::SmallVector<Scalar>>
  operator()(llvm::ArrayRef<Scalar> arguments);

private:
  llvm::LogicalResult run(mlir::Operation &op);
  void define(mlir::Value value, Scalar contents);

  mlir::Block &block;
  llvm::DenseMap<mlir::Value, Tensor> values;
};

} // namespace shoal::reference

#endif // SHOAL_LIB_REFERENCE_SCALARREGION_H
