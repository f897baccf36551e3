// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Utils/Cleanup.h"
#include "mlir/Dialect/Func/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "shoal/Conversion/Kernels/Passes.h"

using namespace mlir;
using namespace shoal;

void shoal::buildCPUKernelsPipeline(OpPassManager &pm) {
  // What loops multiply is compiled with the rest: no call, and known sizes.
  pm.addNestedPass<func::FuncOp>(createExpandProducts());
  // Ops on the same rows are one kernel. Where buffers lie is known: what they
  // write over may forbid it.
  pm.addNestedPass<func::FuncOp>(createGroupRows());
  // A function for each op: its buffers are arguments, which LLVM can be told
  // are no aliases.
  pm.addPass(createOutlineKernels({/*threads=*/true}));
  // Layers are alike, and so are their kernels: all that comes below, and LLVM
  // most of all, sees each once.
  pm.addPass(func::createDuplicateFunctionEliminationPass());
  OpPassManager &func = pm.nest<func::FuncOp>();
  func.addPass(createTileForThreads());
  func.addPass(createTileTransposes());
  func.addPass(createVectorizeTransposes());
}

void shoal::buildCPULoopsPipeline(OpPassManager &pm) {
  OpPassManager &func = pm.nest<func::FuncOp>();
  func.addPass(createOrderSums());
  // What has no lanes by now is summed in rows.
  func.addPass(createJamReductions());
  func.addPass(createConvertLinalgToLoopsPass());
  func.addPass(memref::createFoldMemRefAliasOpsPass());
  addCleanup(func);
  func.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createOutlineTiles());
  pm.addPass(createVerifyKernels());
}

void shoal::buildDeviceKernelsPipeline(OpPassManager &pm, MachineKind machine) {
  pm.addPass(createOutlineKernels());
  // What stays on the host must not touch the device's memory.
  pm.addPass(createUseDeviceMemory());
  pm.addPass(createMapKernels({machine, /*maxBlocks=*/0}));
  // All that touches memory is a call now.
  pm.addNestedPass<func::FuncOp>(createInsertWaits());
  pm.addPass(createVerifyKernels({/*device=*/true}));
}
