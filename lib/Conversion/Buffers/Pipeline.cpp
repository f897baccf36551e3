// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "shoal/Conversion/Buffers/Passes.h"
#include "shoal/Conversion/Cleanup/Passes.h"

using namespace mlir;
using namespace shoal;

void shoal::buildBuffersPipeline(OpPassManager &pm) {
  // Upstream's analysis copies where two ops seem to write one tensor: it gets
  // to see that they do not.
  pm.addNestedPass<func::FuncOp>(createPrepareBuffers());
  // Each initial tensor is memory of its own from here on: no two become one.
  pm.addNestedPass<func::FuncOp>(
      bufferization::createEmptyTensorToAllocTensorPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  // What a loop carries is then seen to be the buffer that it began with.
  addCleanup(pm);
  // Which results are buffers that the function allocates is known now.
  pm.addNestedPass<func::FuncOp>(createResultsToOutParams());
  // Views of views go, and copies of a buffer to itself.
  addCleanup(pm);
  pm.addPass(createVerifyBuffers());
}
