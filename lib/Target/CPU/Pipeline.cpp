// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/Pass/PassRegistry.h"
#include "shoal/Conversion/Passes.h"
#include "shoal/Machine/NativeOneDNN.h"
#include "shoal/Target/CPU/CPUTarget.h"

using namespace mlir;

void shoal::buildCPUPlanPipeline(OpPassManager &pm) {
  constexpr MachineKind machine = MachineKind::CPU;
  buildShoalToLinalgPipeline(pm);
  buildFusionPipeline(pm, machine);
  buildBuffersPipeline(pm);
  buildMemoryPipeline(pm, machine, nativeOneDNN());
}

void shoal::buildCPUKernelsPipeline(OpPassManager &pm) {
  buildKernelFunctionsPipeline(pm);
  ScalarsOptions scalars;
  scalars.approximate = true;
  buildScalarsPipeline(pm.nest<func::FuncOp>(), scalars);
  // Bodies are what a vector can do as well by now.
  buildElementLoopsPipeline(pm);
}

void shoal::registerCPUPipelines() {
  PassPipelineRegistration<>("shoal-lower-to-cpu",
                             "Lower a per-device program to LLVM's dialect",
                             [](OpPassManager &pm) {
                               buildCPUPlanPipeline(pm);
                               buildCPUKernelsPipeline(pm);
                               buildToLLVMPipeline(pm);
                             });
}
