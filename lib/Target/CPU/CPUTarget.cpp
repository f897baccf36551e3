// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Target/CPU/CPUTarget.h"
#include "Libraries.h"
#include "shoal/Conversion/Passes.h"

using namespace mlir;
using namespace shoal;

void shoal::registerCPUTarget(DialectRegistry &registry) {
  registerLoweringDialects(registry);
}

FailureOr<LoweredProgram> shoal::lowerForCPU(ModuleOp module,
                                             StageSeconds &seconds,
                                             OnPrepared onPrepared,
                                             OnPlanned onPlanned,
                                             bool verifyEach) {
  return timed(seconds, "lower", [&]() -> FailureOr<LoweredProgram> {
    FailureOr<ProgramDescription> description =
        prepareProgram(module, verifyEach);
    if (failed(description))
      return failure();
    if (onPrepared)
      onPrepared(module);
    if (failed(runPasses(module, buildCPUPlanPipeline, verifyEach)))
      return failure();
    LoweredProgram program;
    program.description = *description;
    auto main = module.lookupSymbol<func::FuncOp>(description->name);
    if (onPlanned)
      onPlanned(main);
    // Some of them are no ops any more behind the kernels.
    takeProducts(main, program.description);
    takeMemory(main, program);
    if (failed(runPasses(module, buildCPUKernelsPipeline, verifyEach)))
      return failure();
    takeDonors(main, program.description);
    if (failed(runPasses(module, buildToLLVMPipeline, verifyEach)))
      return failure();
    addEntryPoint(module, program,
                  toMetadata(program.description, "cpu", program.arenaBytes));
    return program;
  });
}

LogicalResult shoal::emitForCPU(ModuleOp module, const LoweredProgram &program,
                                StringRef outputPath,
                                const TargetOptions &options,
                                StageSeconds &seconds) {
  FailureOr<RuntimeLibrary> runtime =
      chooseRuntime(program.description, module);
  if (failed(runtime))
    return failure();
  return emitExecutable(module, outputPath, *runtime, options, seconds);
}
