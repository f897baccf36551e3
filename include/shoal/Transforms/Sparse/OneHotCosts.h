// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What one-hot einsums will cost, said before --shoal-sparsify-einsums has
// rewritten them: shardings are chosen on the global program.

#ifndef SHOAL_TRANSFORMS_SPARSE_ONEHOTCOSTS_H
#define SHOAL_TRANSFORMS_SPARSE_ONEHOTCOSTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "shoal/Machine/Machine.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace shoal {

/// Instead of what an op's factor rule says of its operations.
struct OneHotCost {
  /// Operations that take as long as what is done instead.
  double flops = 0;
  /// Factors of the op's rule a split of which leaves each device as much to
  /// do.
  llvm::SmallVector<unsigned, 2> unsharedFactors;
};

struct OneHotCosts {
  /// Of ops that will be rewritten, or made only where they are read.
  llvm::MapVector<mlir::Operation *, OneHotCost> ops;
  /// Operations that come on top where a collective moves the value, which is
  /// then made: those of the einsums that read it and are products again.
  llvm::DenseMap<mlir::Value, double> flopsIfSent;
};

/// By the analysis of --shoal-sparsify-einsums, whose `min-gain` this is: what
/// is rewritten. What moving rows then costs the machine says.
OneHotCosts priceOneHots(mlir::func::FuncOp function, double minGain,
                         const Machine &machine);

} // namespace shoal

#endif // SHOAL_TRANSFORMS_SPARSE_ONEHOTCOSTS_H
