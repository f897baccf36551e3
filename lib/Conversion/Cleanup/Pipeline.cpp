// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "shoal/Conversion/Cleanup/Passes.h"

using namespace mlir;
using namespace shoal;

void shoal::addCleanup(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createMergeEqualOps());
}
