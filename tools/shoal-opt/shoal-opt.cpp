// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "shoal/InitShoal.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  shoal::registerShoalDialects(registry);
  mlir::registerAllPasses();
  shoal::registerShoalPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Shoal optimizer driver\n", registry));
}
