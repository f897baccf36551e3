// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "mlir/InitAllDialects.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "shoal/InitShoal.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  // LLVM's libraries register options of every back end and pass when they are
  // loaded. MlirLspServerMain registers its own below.
  llvm::cl::HideUnrelatedOptions(
      llvm::ArrayRef<const llvm::cl::OptionCategory *>());
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  shoal::registerShoalDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
