// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Target/CPU/CPUTarget.h"
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
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "shoal/Conversion/Passes.h"
#include "shoal/Dialect/Rt/IR/Rt.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace mlir;
using namespace shoal;

void shoal::registerCPUTarget(DialectRegistry &registry) {
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

LogicalResult
shoal::runPasses(ModuleOp module,
                 llvm::function_ref<void(OpPassManager &)> build) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  if (failed(applyPassManagerCLOptions(pm)))
    return failure();
  build(pm);
  return pm.run(module);
}

int64_t shoal::takeBytes(Operation *op, StringRef name) {
  return cast<IntegerAttr>(op->removeAttr(name)).getInt();
}

void shoal::takeMemory(Operation *op, LoweredProgram &program) {
  program.arenaBytes = takeBytes(op, kArenaBytesAttr);
  program.liveBytes = takeBytes(op, kLiveBytesAttr);
  program.memory =
      toMemoryPlan(cast<DictionaryAttr>(op->removeAttr(kMemoryPlanAttr)));
}

FailureOr<ProgramDescription> shoal::prepareProgram(ModuleOp module) {
  if (failed(findProgram(module)) ||
      failed(runPasses(module, [](OpPassManager &pm) {
        pm.addPass(createCanonicalizerPass());
        pm.addPass(createCSEPass());
      })))
    return failure();
  return describeProgram(module);
}

FailureOr<LoweredProgram> shoal::lowerForCPU(ModuleOp module,
                                             StageSeconds &seconds,
                                             OnPrepared onPrepared) {
  return timed(seconds, "lower", [&]() -> FailureOr<LoweredProgram> {
    FailureOr<ProgramDescription> description = prepareProgram(module);
    if (failed(description))
      return failure();
    if (onPrepared)
      onPrepared(module);
    if (failed(runPasses(module, buildCPULoweringPipeline)))
      return failure();
    LoweredProgram program;
    program.description = *description;
    auto main = module.lookupSymbol<LLVM::LLVMFuncOp>(program.description.name);
    if (!main)
      return module.emitError("the lowering to LLVM left ops behind");
    takeMemory(main, program);
    takeDonors(main, program.description);
    addEntryPoint(module, program,
                  toMetadata(program.description, "cpu", program.arenaBytes));
    return program;
  });
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

TemporaryFile::TemporaryFile(StringRef output, StringRef suffix)
    : path(llvm::formatv("{0}.{1}{2}", output,
                         llvm::sys::Process::getProcessId(), suffix)) {}

TemporaryFile::~TemporaryFile() {
  [[maybe_unused]] std::error_code ignored = llvm::sys::fs::remove(path);
}

template <typename Printable>
static LogicalResult save(const TargetOptions &options, StringRef name,
                          Printable print, Location loc) {
  if (options.saveTempsDirectory.empty())
    return success();
  llvm::SmallString<128> path(options.saveTempsDirectory);
  std::error_code error = llvm::sys::fs::create_directories(path);
  llvm::sys::path::append(path, name);
  if (!error) {
    llvm::raw_fd_ostream os(path, error);
    if (!error)
      print(os);
  }
  if (error)
    return emitError(loc) << "cannot write " << path << ": " << error.message();
  return success();
}

LogicalResult shoal::emitForHost(ModuleOp module, StringRef outputPath,
                                 const RuntimeLibrary &runtime,
                                 const TargetOptions &options,
                                 StageSeconds &seconds) {
  auto loc = UnknownLoc::get(module.getContext());
  auto machine = createHostMachine(loc);
  if (failed(machine) ||
      failed(
          save(options, "program.mlir", [&](auto &os) { os << module; }, loc)))
    return failure();

  llvm::LLVMContext context;
  auto llvmModule = timed(seconds, "translate", [&] {
    return translateToLLVM(module, context, **machine);
  });
  if (!llvmModule)
    return failure();
  timed(seconds, "optimize", [&] { optimize(*llvmModule, **machine); });
  if (failed(save(
          options, "program.ll", [&](auto &os) { os << *llvmModule; }, loc)))
    return failure();

  TemporaryFile object(outputPath.empty() ? options.sharedPath : outputPath,
                       ".o");
  auto linkTo = [&](StringRef path, bool shared) {
    return path.empty()
               ? success()
               : link(object.path, path, shared, runtime, options, loc);
  };
  if (failed(timed(seconds, "codegen",
                   [&] {
                     return writeObject(*llvmModule, **machine, object.path,
                                        loc);
                   })) ||
      failed(timed(seconds, "link", [&] {
        return success(succeeded(linkTo(outputPath, options.shared)) &&
                       succeeded(linkTo(options.sharedPath, true)));
      })))
    return failure();
  if (!options.saveTempsDirectory.empty()) {
    llvm::SmallString<128> copy(options.saveTempsDirectory);
    llvm::sys::path::append(copy, "program.o");
    [[maybe_unused]] std::error_code ignored =
        llvm::sys::fs::copy_file(object.path, copy);
  }
  return success();
}

LogicalResult shoal::emitForCPU(ModuleOp module, StringRef outputPath,
                                const TargetOptions &options,
                                StageSeconds &seconds) {
  RuntimeLibrary runtime{"libshoal_rt_cpu.a", "shoal_rt_cpu", {"-lopenblas"}};
  return emitForHost(module, outputPath, runtime, options, seconds);
}
