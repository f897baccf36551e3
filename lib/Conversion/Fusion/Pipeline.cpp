// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Pass/PassManager.h"
#include "shoal/Conversion/Cleanup/Passes.h"
#include "shoal/Conversion/Fusion/Passes.h"

using namespace mlir;
using namespace shoal;

void shoal::buildFusionPipeline(OpPassManager &pm, MachineKind machine) {
  OpPassManager &func = pm.nest<func::FuncOp>();
  // First: what a product, a gather or a sum is followed by is then one op.
  func.addPass(createFuseElementwise());
  addCleanup(func);
  // A device's products have epilogues. What could be one is now the body of
  // one op.
  if (machineOf(machine).isDevice) {
    func.addPass(createFuseEpilogues());
    addCleanup(func);
  }
  // Readers of a gather are now as few as they get.
  func.addPass(createFuseGathers());
  // Short sums become elementwise ops.
  func.addPass(createUnrollReductions());
  // What follows the sums joins them.
  func.addPass(createFuseElementwise());
  addCleanup(func);
  // What only moves elements for a product has joined. A device runs all of a
  // product in one launch.
  if (!machineOf(machine).isDevice) {
    func.addPass(createSplitProducts());
    addCleanup(func);
  }
  // What is stored is known by now. What is computed again joins its readers.
  func.addPass(createRecomputeValues());
  func.addPass(createFuseElementwise());
  addCleanup(func);
  // Nothing is fused any more: what ops read and store stays, but for this.
  func.addPass(createReadResults());
  // All ops are there that make large values: their order can be chosen.
  func.addPass(createOrderOps());
  pm.addPass(createVerifyFusion());
}
