// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What phases do between passes that leave something behind.

#ifndef SHOAL_LIB_CONVERSION_UTILS_CLEANUP_H
#define SHOAL_LIB_CONVERSION_UTILS_CLEANUP_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace shoal {

inline void addCleanup(mlir::OpPassManager &pm) {
  pm.addPass(mlir::createCanonicalizerPass());
  pm.addPass(mlir::createCSEPass());
}

} // namespace shoal

#endif // SHOAL_LIB_CONVERSION_UTILS_CLEANUP_H
