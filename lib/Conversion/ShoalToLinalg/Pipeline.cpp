// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "shoal/Conversion/Cleanup/Passes.h"
#include "shoal/Conversion/ShoalToLinalg/Passes.h"

using namespace mlir;
using namespace shoal;

void shoal::buildShoalToLinalgPipeline(OpPassManager &pm) {
  // First: whole ops, of which each knows its loops or its call of the runtime.
  pm.addPass(createShoalToLinalg());
  // What programs compute element by element becomes linalg last: what ops of
  // shoal become may have such parts.
  OpPassManager &func = pm.nest<func::FuncOp>();
  func.addPass(createConvertElementwiseToLinalgPass());
  addCleanup(func);
  pm.addPass(createVerifyLinalg());
}
