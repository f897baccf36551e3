// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Target/CUDA/DeviceImage.h"
#include "../Executable/Steps.h"
#include "ImageSteps.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "shoal/Conversion/Passes.h"
#include "shoal/Target/Emulation/Emulation.h"

using namespace mlir;
using namespace shoal;

void shoal::registerDeviceImage(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect,
                  func::FuncDialect, gpu::GPUDialect, LLVM::LLVMDialect,
                  math::MathDialect, memref::MemRefDialect, NVVM::NVVMDialect,
                  scf::SCFDialect, vector::VectorDialect>();
  // What --convert-gpu-to-nvvm takes its patterns from.
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

void shoal::buildNVVMPipeline(OpPassManager &module) {
  OpPassManager &pm = module.nest<gpu::GPUModuleOp>();
  // Values are those of the CPU. GPUs convert bf16 themselves.
  OpPassManager &kernel = pm.nest<gpu::GPUFuncOp>();
  ScalarsOptions scalars;
  scalars.keepConversions = true;
  buildScalarsPipeline(kernel, scalars);
  kernel.addPass(createLoopInvariantCodeMotionPass());
  // Bodies that were fused compute indices of their loops in that dialect.
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  ConvertGpuOpsToNVVMOpsOptions nvvm;
  nvvm.useBarePtrCallConv = true;
  pm.addPass(createConvertGpuOpsToNVVMOps(nvvm));
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void shoal::registerDeviceImagePipelines() {
  PassPipelineRegistration<>(
      "shoal-lower-kernels-to-nvvm",
      "Lower the kernels of gpu.modules to NVVM's dialect",
      [](OpPassManager &pm) { buildNVVMPipeline(pm); });
  registerWriteImagePass();
}

/// A module with a copy of the kernels, lowered.
static OwningOpRef<ModuleOp> lowerCopy(gpu::GPUModuleOp kernels,
                                       void (*build)(OpPassManager &)) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernels.getLoc());
  OpBuilder::atBlockEnd(module->getBody()).clone(*kernels);
  if (failed(runPasses(*module, build)))
    return nullptr;
  return module;
}

FailureOr<std::string> shoal::buildPTX(gpu::GPUModuleOp kernels, StringRef arch,
                                       StringRef toolkitDirectory) {
  OwningOpRef<ModuleOp> module = lowerCopy(kernels, buildNVVMPipeline);
  if (!module)
    return failure();
  return translateToPTX(*module->getOps<gpu::GPUModuleOp>().begin(), arch,
                        toolkitDirectory);
}

FailureOr<std::string> shoal::buildImage(gpu::GPUModuleOp kernels,
                                         ArrayRef<std::string> archs,
                                         StringRef toolkitDirectory) {
  bool isEmulated = llvm::is_contained(archs, kEmulatedArch);
  if (archs.empty() || (isEmulated && archs.size() > 1))
    return kernels.emitError(
        "expected GPU architectures, or \"emulated\" alone");
  OwningOpRef<ModuleOp> module = lowerCopy(
      kernels, isEmulated ? buildEmulatedKernelPipeline : buildNVVMPipeline);
  if (!module)
    return failure();
  return isEmulated ? buildEmulatedImage(*module)
                    : buildFatbin(*module, archs, toolkitDirectory);
}
