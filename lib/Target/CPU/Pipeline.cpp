// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "shoal/Conversion/Passes.h"
#include "shoal/Target/CPU/CPUTarget.h"

using namespace mlir;

/// Narrow floats are computed in f32, transcendental functions by polynomials.
static void addScalarPasses(OpPassManager &pm) {
  pm.addPass(shoal::createExpandMath());
  pm.addPass(math::createMathExtendToSupportedTypes());
  pm.addPass(shoal::createApproximateMath());
  shoal::addExactArithmetic(pm, /*keepConversions=*/false);
}

static void addLoopPasses(OpPassManager &pm) {
  OpPassManager &func = pm.nest<func::FuncOp>();
  func.addPass(shoal::createTileTransposes());
  func.addPass(createConvertLinalgToLoopsPass());
  func.addPass(memref::createFoldMemRefAliasOpsPass());
  func.addPass(createCanonicalizerPass());
  func.addPass(createCSEPass());
  func.addPass(createLoopInvariantCodeMotionPass());
  addScalarPasses(func);
  func.addPass(createCanonicalizerPass());
  func.addPass(createCSEPass());
}

void shoal::buildCPULoweringPipeline(OpPassManager &pm) {
  buildKernelPipeline(pm, /*isDevice=*/false);
  addLoopPasses(pm);
  buildHostPipeline(pm);
}

void shoal::registerCPUPipelines() {
  PassPipelineRegistration<>(
      "shoal-lower-to-cpu", "Lower a per-device program to LLVM's dialect",
      [](OpPassManager &pm) { buildCPULoweringPipeline(pm); });
}
