// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_TRANSFORMS_COLLECTIVES_SPMDFUNCTIONS_H
#define SHOAL_LIB_TRANSFORMS_COLLECTIVES_SPMDFUNCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"

namespace shoal {

/// The functions with a body that are one device's program.
inline auto spmdFunctions(mlir::ModuleOp module) {
  return llvm::make_filter_range(
      module.getOps<mlir::func::FuncOp>(), [](mlir::func::FuncOp function) {
        return function->hasAttr(kSpmdAttr) && !function.isDeclaration();
      });
}

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_COLLECTIVES_SPMDFUNCTIONS_H
