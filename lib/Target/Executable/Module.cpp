// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Steps.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "shoal/Conversion/Passes.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"

using namespace mlir;
using namespace shoal;

void shoal::registerLoweringDialects(DialectRegistry &registry) {
  registry.insert<ShoalDialect, spmd::SpmdDialect, rt::RtDialect,
                  affine::AffineDialect, arith::ArithDialect,
                  bufferization::BufferizationDialect, cf::ControlFlowDialect,
                  func::FuncDialect, linalg::LinalgDialect, LLVM::LLVMDialect,
                  math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                  tensor::TensorDialect>();
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(
      registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

LogicalResult shoal::runPasses(ModuleOp module,
                               llvm::function_ref<void(OpPassManager &)> build,
                               bool verifyEach) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  if (failed(applyPassManagerCLOptions(pm)))
    return failure();
  applyDefaultTimingPassManagerCLOptions(pm);
  pm.enableVerifier(verifyEach);
  build(pm);
  if (failed(pm.run(module)))
    return failure();
  return verifyEach ? success() : verify(module);
}

int64_t shoal::takeBytes(Operation *op, StringRef name) {
  return cast<IntegerAttr>(op->removeAttr(name)).getInt();
}

/// Where outputs lie, behind the inputs among the arguments.
static void takeOffsets(func::FuncOp main, ProgramDescription &program) {
  unsigned number = program.inputs.size();
  for (TensorDescription &output : program.outputs) {
    auto offset = dyn_cast_if_present<IntegerAttr>(
        main.removeArgAttr(number++, kResultOffsetAttr));
    if (offset)
      output.offset = offset.getInt();
  }
}

void shoal::takeMemory(func::FuncOp main, LoweredProgram &program) {
  if (main->hasAttr(kResultBytesAttr))
    program.description.sharedBytes = takeBytes(main, kResultBytesAttr);
  takeOffsets(main, program.description);
  program.arenaBytes = takeBytes(main, kArenaBytesAttr);
  program.liveBytes = takeBytes(main, kLiveBytesAttr);
  program.memory =
      toMemoryPlan(cast<DictionaryAttr>(main->removeAttr(kMemoryPlanAttr)));
}

/// `cpu gemm 64x96x128 ...`
static std::string printPlan(rt::RuntimeCallOpInterface call) {
  std::string text;
  auto product = dyn_cast<rt::EinsumOp>(call.getOperation());
  if (!product)
    return text;
  llvm::raw_string_ostream(text) << product.getPlanAttr();
  StringRef plan = text;
  plan.consume_front("#rt.product_plan<");
  plan.consume_back(">");
  return plan.str();
}

void shoal::takeProducts(func::FuncOp main, ProgramDescription &program) {
  rt::ProgramMeshes meshes(main->getParentOfType<ModuleOp>());
  main.walk([&](rt::RuntimeCallOpInterface call) {
    if (isa<rt::EinsumOp, rt::RaggedEinsumOp>(call))
      program.products.push_back({isa<rt::RaggedEinsumOp>(call),
                                  call.getDescriptor(meshes), call.getLoc(),
                                  printPlan(call)});
  });
}

FailureOr<ProgramDescription> shoal::prepareProgram(ModuleOp module,
                                                    bool verifyEach) {
  auto build = [](OpPassManager &pm) {
    pm.addPass(createCanonicalizerPass());
    pm.addPass(createCSEPass());
  };
  if (failed(findProgram(module)) ||
      failed(runPasses(module, build, verifyEach)))
    return failure();
  return describeProgram(module);
}
