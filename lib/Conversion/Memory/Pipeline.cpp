// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Pass/PassManager.h"
#include "shoal/Conversion/Memory/Passes.h"

using namespace mlir;
using namespace shoal;

void shoal::buildMemoryPipeline(OpPassManager &pm, MachineKind machine,
                                OneDNN oneDNN, const Overlap &overlap) {
  bool onDevice = machineOf(machine).isDevice;
  // Where a buffer is a part of another one, nothing is written over it.
  if (!onDevice)
    pm.addNestedPass<func::FuncOp>(createPlaceRows());
  // Fewer buffers: what comes below looks at when each is used.
  pm.addNestedPass<func::FuncOp>(createReuseBuffers());
  // Bias and activation have joined their products: all products are there.
  // Their plans say what scratch they need.
  pm.addNestedPass<func::FuncOp>(createPlanProducts({machine, oneDNN}));
  pm.addNestedPass<func::FuncOp>(createAddScratch({machine}));
  // All ops are there by now: their order can be chosen. The plan needs it.
  if (onDevice)
    pm.addNestedPass<func::FuncOp>(
        createOverlapCollectives({machine, overlap.memory}, overlap.durations));
  PlanMemoryOptions plan;
  plan.background = onDevice;
  plan.memory = overlap.memory;
  pm.addPass(createPlanMemory(plan));
  pm.addPass(createVerifyMemory());
}
