// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs a program in the reference interpreter, on one device or on all devices
// of its mesh.

#include "Driver.h"
#include "Error.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "shoal/InitShoal.h"
#include "shoal/Reference/Models.h"
#include "shoal/Reference/Tensor.h"
#include "shoal/Transforms/Import/TextLimits.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include <new>

using namespace mlir;
using namespace shoal::run;

/// Null after an error.
static OwningOpRef<ModuleOp> parse(StringRef path, llvm::SourceMgr &sources,
                                   MLIRContext &context) {
  std::string message;
  auto file = openInputFile(path, &message);
  if (!file) {
    emitError(UnknownLoc::get(&context)) << message;
    return nullptr;
  }
  llvm::MemoryBufferRef text = *file;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  if (failed(shoal::verifyText(text, &context)))
    return nullptr;
  return parseSourceFile<ModuleOp>(sources, &context);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  shoal::reportFatalErrors();
  std::set_new_handler(nullptr); // LLVM's ends the process
  shoal::reference::keepFreedMemory();
  Options options = parseOptions(argc, argv);
  DialectRegistry registry;
  shoal::registerShoalDialects(registry);
  shoal::reference::registerReferenceModels(registry);
  MLIRContext context(registry);
  // The source line says it; the op in generic form is for pass authors.
  context.printOpOnDiagnostic(false);
  if (failed(loadCustomCalls(context, options.customCallLibraries)))
    return 1;
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler diagnostics(sources, &context);
  try {
    OwningOpRef<ModuleOp> module = parse(options.program, sources, context);
    return module && succeeded(run(options, *module)) ? 0 : 1;
  } catch (const std::bad_alloc &) {
    return failed(error("the program's tensors do not fit into memory"));
  }
}
