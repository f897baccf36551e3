// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Pass/PassManager.h"
#include "shoal/Conversion/Device/Passes.h"

using namespace mlir;
using namespace shoal;

void shoal::buildDevicePipeline(OpPassManager &pm, MachineKind machine) {
  OpPassManager &func = pm.nest<func::FuncOp>();
  // A reduction that knows what it begins with is one that others can follow in
  // the same kernel.
  func.addPass(createFuseFills());
  // Before reductions are cut: one that is in parts has no rows to follow.
  func.addPass(createFuseRows({machine}));
  // What is left alone is cut where it has too few threads.
  func.addPass(createSplitReductions({machine}));
  pm.addPass(createVerifyDevice());
}
