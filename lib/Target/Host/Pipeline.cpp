// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"
#include "shoal/Conversion/Passes.h"
#include "shoal/Target/Target.h"

using namespace mlir;

static void addCleanup(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

/// Tensors: everything becomes linalg or a runtime call, then fuses.
static void addTensorPasses(OpPassManager &pm, bool isDevice) {
  pm.addPass(shoal::createShoalToLinalg());
  OpPassManager &func = pm.nest<func::FuncOp>();
  func.addPass(createConvertElementwiseToLinalgPass());
  addCleanup(func);
  func.addPass(shoal::createFuseElementwise());
  addCleanup(func);
  if (isDevice) {
    func.addPass(shoal::createFuseEpilogues());
    addCleanup(func);
  }
  func.addPass(shoal::createFuseGathers());
  func.addPass(shoal::createUnrollReductions());
  // What follows the sums joins them.
  func.addPass(shoal::createFuseElementwise());
  addCleanup(func);
}

/// Tensors become buffers, buffers get their places, loops their functions.
static void addBufferPasses(OpPassManager &pm, bool isDevice) {
  pm.addNestedPass<func::FuncOp>(shoal::createPrepareBuffers());
  pm.addNestedPass<func::FuncOp>(
      bufferization::createEmptyTensorToAllocTensorPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  // What a loop carries is then seen to be the buffer that it began with.
  addCleanup(pm);
  pm.addNestedPass<func::FuncOp>(shoal::createResultsToOutParams());
  addCleanup(pm);
  if (isDevice) {
    pm.addNestedPass<func::FuncOp>(shoal::createFuseFills());
    pm.addNestedPass<func::FuncOp>(shoal::createFuseRows());
    pm.addNestedPass<func::FuncOp>(shoal::createSplitReductions());
    // The last that knows which ops there are, and the first that needs to know
    // their order.
    pm.addNestedPass<func::FuncOp>(shoal::createOverlapCollectives());
  }
  shoal::PlanMemoryOptions plan;
  plan.background = isDevice;
  pm.addPass(shoal::createPlanMemory(plan));
  pm.addPass(shoal::createOutlineKernels());
}

void shoal::addExactArithmetic(OpPassManager &pm, bool keepConversions) {
  arith::ArithEmulateUnsupportedFloatsOptions emulate;
  emulate.sourceTypeStrs = {"bf16", "f16", "f8E4M3FN", "f8E5M2"};
  emulate.targetTypeStr = "f32";
  pm.addPass(arith::createArithEmulateUnsupportedFloats(emulate));
  ExpandNarrowFloatsOptions narrow;
  narrow.keepConversions = keepConversions;
  pm.addPass(createExpandNarrowFloats(narrow));
  pm.addPass(arith::createArithExpandOpsPass());
  pm.addPass(createGuardDivision());
}

void shoal::buildKernelPipeline(OpPassManager &pm, bool isDevice) {
  addTensorPasses(pm, isDevice);
  addBufferPasses(pm, isDevice);
}

void shoal::buildHostPipeline(OpPassManager &pm) {
  pm.addPass(shoal::createLowerRuntimeCalls());
  pm.addPass(createConvertMathToFuncs());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  // The previous pass computes addresses in the affine dialect.
  pm.addPass(createLowerAffinePass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createConvertIndexToLLVMPass());
  ConvertFuncToLLVMPassOptions func;
  func.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(func));
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(shoal::createStoreBF16AsI16());
}
