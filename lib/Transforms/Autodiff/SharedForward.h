// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A function and its derivative, called on the same arguments, compute the
// function once.

#ifndef SHOAL_LIB_TRANSFORMS_AUTODIFF_SHAREDFORWARD_H
#define SHOAL_LIB_TRANSFORMS_AUTODIFF_SHAREDFORWARD_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace shoal {

/// Of derivatives that return their function's results, then gradients: the
/// function of each.
using FunctionsOfDerivatives =
    llvm::DenseMap<llvm::StringRef, mlir::func::FuncOp>;

/// Where `caller` calls a function and behind it its derivative on the same
/// arguments, what the derivative makes the results of takes the first call's
/// place, and the rest of it the second's. Merged later, op by op, loops would
/// run twice: those of the derivative keep rows as well.
void shareForward(mlir::func::FuncOp caller,
                  const FunctionsOfDerivatives &functions);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_AUTODIFF_SHAREDFORWARD_H
