// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the closing verifiers of phases have in common.

#ifndef SHOAL_LIB_CONVERSION_UTILS_VERIFYOPS_H
#define SHOAL_LIB_CONVERSION_UTILS_VERIFYOPS_H

#include "mlir/Pass/Pass.h"

namespace shoal {

/// Fails at the first op below `root`, of the type that `verify` takes, for
/// which `verify` fails, after its error.
template <typename Verify>
mlir::LogicalResult verifyOps(mlir::Operation *root, Verify verify) {
  using Op = typename llvm::function_traits<Verify>::template arg_t<0>;
  mlir::WalkResult result =
      root->walk([&](Op op) { return mlir::WalkResult(verify(op)); });
  return mlir::failure(result.wasInterrupted());
}

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_UTILS_VERIFYOPS_H
