// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs the regions of combiners, blocks of elementwise ops on scalars, for many
// scalars at once.

#ifndef SHOAL_LIB_REFERENCE_COMBINERREGION_H
#define SHOAL_LIB_REFERENCE_COMBINERREGION_H

#include "mlir/IR/Block.h"
#include "shoal/Reference/ReferenceInterface.h"

namespace shoal::reference {

/// A block of elementwise ops on scalars as a function of tensors: for each
/// index the block is run on the arguments' elements there.
class CombinerRegion {
public:
  /// `scalars` is read here alone.
  explicit CombinerRegion(mlir::Block &scalars);

  /// What the terminator yields. The arguments have one shape, and so have the
  /// results. On failure an error has been emitted at an op.
  llvm::FailureOr<Tensors> operator()(llvm::ArrayRef<Tensor> arguments);

private:
  /// The ops, with tensors of the last call's shape for scalars.
  mlir::Block block;
};

} // namespace shoal::reference

#endif // SHOAL_LIB_REFERENCE_COMBINERREGION_H
