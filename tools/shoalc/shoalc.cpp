// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// shoalc: compiles a program to an executable that every device runs.

#include "Options.h"

#include "mlir/IR/MLIRContext.h"
#include "shoal/InitShoal.h"
#include "shoal/Transforms/Debug/DebugOptions.h"
#include "llvm/Support/InitLLVM.h"

#include <csignal>

int main(int argc, char **argv) {
  llvm::InitLLVM initialize(argc, argv);
  shoal::reportFatalErrors();
  // An output that outgrows `ulimit -f` is an error of writing, not a crash.
  std::signal(SIGXFSZ, SIG_IGN);
  shoal::registerDebugOptions();
  auto options = shoal::compiler::parseOptions(argc, argv);
  if (!options)
    return 1;
  mlir::DialectRegistry registry;
  shoal::registerCompiler(registry);
  mlir::MLIRContext context(registry);
  // The source line says it; the op in generic form is for pass authors.
  context.printOpOnDiagnostic(false);
  return failed(shoal::compile(context, *options)) ? 1 : 0;
}
