// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Dialect/Func/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "shoal/Conversion/Cleanup/Passes.h"
#include "shoal/Conversion/Kernels/Passes.h"

using namespace mlir;
using namespace shoal;

void shoal::buildKernelFunctionsPipeline(OpPassManager &pm) {
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
  // First of the tilings: what threads share are whole ops, of which the cost
  // is known.
  func.addPass(createTileForThreads());
  // Within a thread's tile. The next pass is of such squares.
  func.addPass(createTileTransposes());
  func.addPass(createVectorizeTransposes());
}

void shoal::buildElementLoopsPipeline(OpPassManager &pm) {
  OpPassManager &func = pm.nest<func::FuncOp>();
  // The order of sums is the program's for good: what comes below, and LLVM,
  // may reassociate nothing.
  func.addPass(createOrderSums());
  // What has no lanes by now is summed in rows.
  func.addPass(createJamReductions());
  // The last ops of linalg: nobody asks any more what an op does as a whole.
  func.addPass(createConvertLinalgToLoopsPass());
  // Loads and stores are there now, and go to the kernel's arguments, which are
  // no aliases, instead of to the tiles' views.
  func.addPass(memref::createFoldMemRefAliasOpsPass());
  addCleanup(func);
  // Subscripts of outer loops are arithmetic of the inner ones by now.
  func.addPass(createLoopInvariantCodeMotionPass());
  // Behind the motion: what does not change from tile to tile stays in front of
  // them, and becomes an argument.
  pm.addPass(createOutlineTiles());
  pm.addPass(createVerifyKernels());
}

void shoal::buildDeviceKernelsPipeline(OpPassManager &pm, MachineKind machine) {
  // A function for each kernel: launches share those that are alike.
  pm.addPass(createOutlineKernels());
  // What stays on the host must not touch the device's memory.
  pm.addPass(createUseDeviceMemory());
  // All that is no kernel is known: what is left of linalg becomes one.
  pm.addPass(createMapKernels({machine, /*maxBlocks=*/0}));
  // All that touches memory is a call now.
  pm.addNestedPass<func::FuncOp>(createInsertWaits());
  pm.addPass(createVerifyKernels({/*device=*/true}));
}
