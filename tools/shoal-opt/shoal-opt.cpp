// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "shoal/Conversion/Passes.h"
#include "shoal/InitShoal.h"
#include "shoal/Target/CPU/CPUTarget.h"
#include "shoal/Target/CUDA/CUDATarget.h"
#include "shoal/Target/CUDA/DeviceImage.h"
#include "shoal/Target/Emulation/Emulation.h"
#include "shoal/Target/Emulation/Passes.h"
#include "shoal/Transforms/Debug/DebugOptions.h"
#include "llvm/Support/CommandLine.h"

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
  mlir::registerAllPasses();
  shoal::registerShoalPasses();
  shoal::registerShoalConversionPasses();
  shoal::registerEmulationPasses();
  shoal::registerCPUPipelines();
  shoal::registerCUDAPipelines();
  shoal::registerDeviceImagePipelines();
  shoal::registerEmulationPipelines();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Shoal optimizer driver\n", registry));
}
