// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Pass/PassManager.h"
#include "shoal/Conversion/Memory/Passes.h"

using namespace mlir;
using namespace shoal;

void shoal::buildMemoryPipeline(OpPassManager &pm, bool onDevice) {
  // Bias and activation have joined their products: all products are there.
  PlanProductsOptions products;
  products.device = onDevice;
  pm.addNestedPass<func::FuncOp>(createPlanProducts(products));
  AddScratchOptions scratch;
  scratch.device = onDevice;
  pm.addNestedPass<func::FuncOp>(createAddScratch(scratch));
  // All ops are there by now: their order can be chosen. The plan needs it.
  if (onDevice)
    pm.addNestedPass<func::FuncOp>(createOverlapCollectives());
  PlanMemoryOptions plan;
  plan.background = onDevice;
  pm.addPass(createPlanMemory(plan));
  pm.addPass(createVerifyMemory());
}
