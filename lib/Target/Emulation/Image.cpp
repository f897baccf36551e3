// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Executable/Files.h"
#include "../Executable/Steps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "shoal/Conversion/Passes.h"
#include "shoal/Target/Emulation/Emulation.h"
#include "shoal/Target/Emulation/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace shoal;

/// The compiler driver that links; any will do for an object without libraries.
static FailureOr<std::string> findDriver(Location loc) {
  for (StringRef name : {"cc", "gcc", "clang"})
    if (auto path = llvm::sys::findProgramByName(name))
      return *path;
  return emitError(loc) << "cannot find cc, which links kernels for the "
                           "emulated device: install gcc";
}

void shoal::buildEmulatedKernelPipeline(OpPassManager &pm) {
  pm.addPass(createKernelsToFunctions());
  OpPassManager &func = pm.nest<func::FuncOp>();
  buildScalarsPipeline(func, ScalarsOptions());
  func.addPass(createLoopInvariantCodeMotionPass());
  buildToLLVMPipeline(pm);
  pm.addPass(createExportEmulatedKernels());
}

void shoal::registerEmulationPipelines() {
  PassPipelineRegistration<>(
      "shoal-lower-kernels-to-functions",
      "Lower the kernels of gpu.modules to functions for the emulated device",
      [](OpPassManager &pm) { buildEmulatedKernelPipeline(pm); });
}

std::string shoal::findEmulationLibrary(StringRef runtimeDirectory) {
  llvm::SmallString<128> path(runtimeDirectory);
  llvm::sys::path::append(path, "libshoal_cuda_emulation.so");
  // Where there is no current folder, the path stays as it is.
  std::ignore = llvm::sys::fs::make_absolute(path);
  return path.str().str();
}

FailureOr<std::string> shoal::buildEmulatedImage(ModuleOp module) {
  Location loc = module.getLoc();
  auto machine = createNativeMachine(loc, llvm::CodeGenOptLevel::Aggressive);
  FailureOr<std::string> driver = findDriver(loc);
  auto folder = TemporaryFolder::create(loc);
  if (failed(machine) || failed(driver) || failed(folder))
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule =
      translateModuleToLLVMIR(module, context, "shoal_kernels");
  if (!llvmModule)
    return emitError(loc, "the lowering of the kernels left ops behind");
  llvmModule->setTargetTriple((*machine)->getTargetTriple());
  llvmModule->setDataLayout((*machine)->createDataLayout());
  optimize(*llvmModule, **machine);
  std::string object = (*folder)->path("kernels.o");
  std::string library = (*folder)->path("kernels.so");
  // The emulator's functions are those of the process that loads the object.
  llvm::SmallVector<char, 0> code;
  if (failed(writeObject(*llvmModule, **machine, code, loc)) ||
      failed(writeFile(object, StringRef(code.data(), code.size()), loc)) ||
      failed(runTool("linking the kernels",
                     {*driver, "-shared", object, "-lm", "-o", library}, loc)))
    return failure();
  return readFile(library, loc);
}
