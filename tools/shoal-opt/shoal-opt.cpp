// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "shoal/Conversion/Passes.h"
#include "shoal/InitShoal.h"
#include "shoal/Target/CPU/CPUTarget.h"
#include "shoal/Target/CUDA/CUDATarget.h"
#include "shoal/Target/CUDA/DeviceImage.h"
#include "shoal/Target/Emulation/Emulation.h"
#include "shoal/Target/Emulation/Passes.h"
#include "shoal/Transforms/Debug/DebugOptions.h"
#include "shoal/Transforms/Import/TextLimits.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

/// As MlirOptMain, of files that do not nest too deep for its parser.
static LogicalResult optimize(StringRef inputPath, StringRef outputPath,
                              DialectRegistry &registry) {
  std::string message;
  auto input = openInputFile(inputPath, &message);
  auto output = input ? openOutputFile(outputPath, &message) : nullptr;
  if (!output) {
    llvm::errs() << message << "\n";
    return failure();
  }
  {
    MLIRContext context;
    llvm::SourceMgr sources;
    SourceMgrDiagnosticHandler handler(sources, &context);
    if (failed(shoal::verifyText(*input, &context)))
      return failure();
  }
  if (failed(MlirOptMain(output->os(), std::move(input), registry,
                         MlirOptMainConfig::createFromCLOptions())))
    return failure();
  output->keep();
  return success();
}

/// The passes and pipelines of Shoal, before all others are known. Whoever asks
/// for help looks for these passes first.
static void registerOwnPasses(bool showsHelp) {
  shoal::registerShoalPasses();
  shoal::registerShoalConversionPasses();
  shoal::registerEmulationPasses();
  shoal::registerCPUPipelines();
  shoal::registerCUDAPipelines();
  shoal::registerDeviceImagePipelines();
  shoal::registerEmulationPipelines();
  if (!showsHelp)
    return;
  llvm::outs() << "Shoal's own; those of MLIR follow below.\n\n";
  printRegisteredPasses();
  llvm::outs() << '\n';
}

static bool isHelp(StringRef argument) {
  return argument.ltrim('-') == "help" && argument.starts_with("-");
}

int main(int argc, char **argv) {
  // LLVM's libraries register options of every back end and pass when they are
  // loaded. MlirOptMain registers its own below.
  llvm::cl::HideUnrelatedOptions(
      llvm::ArrayRef<const llvm::cl::OptionCategory *>());
  shoal::registerDebugOptions();
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  shoal::registerShoalDialects(registry);
  shoal::registerCUDATarget(registry);
  registerOwnPasses(
      llvm::any_of(llvm::drop_begin(llvm::ArrayRef(argv, argc)), isHelp));
  mlir::registerAllPasses();
  auto [input, output] = registerAndParseCLIOptions(
      argc, argv, "Shoal optimizer driver\n", registry);
  auto config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));
  llvm::InitLLVM initialize(argc, argv);
  return asMainReturnCode(optimize(input, output, registry));
}
