// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Compiler/Driver.h"
#include "Outputs.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "shoal/Compiler/Report.h"
#include "shoal/InitShoal.h"
#include "shoal/Report/Report.h"
#include "shoal/Target/OutputFile.h"
#include "shoal/Transforms/Import/Nesting.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace shoal;

void shoal::registerCompiler(DialectRegistry &registry) {
  registerShoalDialects(registry);
}

using Contents = llvm::function_ref<void(llvm::raw_ostream &)>;

static LogicalResult writeInPlace(Location loc, StringRef path,
                                  StringRef shownPath, Contents contents) {
  std::string message;
  auto file = openOutputFile(path, &message);
  if (!file)
    return emitError(loc) << message;
  contents(file->os());
  file->os().flush();
  if (file->os().has_error()) {
    std::error_code error = file->os().error();
    file->os().clear_error();
    return emitError(loc) << "cannot write " << shownPath << ": "
                          << error.message();
  }
  file->keep();
  return success();
}

/// Writes `contents(os)` to a file, which is there once it is whole, or to "-",
/// stdout.
static LogicalResult writeFile(MLIRContext &context, StringRef path,
                               Contents contents) {
  Location loc = UnknownLoc::get(&context);
  if (path.empty() || path == "-")
    return writeInPlace(loc, "-", "stdout", contents);
  TemporaryFile file(path);
  if (failed(writeInPlace(loc, file.path, path, contents)))
    return failure();
  return file.moveToOutput(loc);
}

/// Makes `entry` the one public function.
static LogicalResult selectEntry(ModuleOp module, StringRef entry) {
  if (entry.empty())
    return success();
  auto found = module.lookupSymbol<func::FuncOp>(entry);
  if (!found)
    return module.emitError() << "there is no function \"" << entry << "\"";
  for (auto func : module.getOps<func::FuncOp>())
    func.setVisibility(func == found ? SymbolTable::Visibility::Public
                                     : SymbolTable::Visibility::Private);
  return success();
}

static LogicalResult writeStatistics(MLIRContext &context, StringRef path,
                                     const LoweredProgram &program,
                                     const StageSeconds &seconds) {
  if (path.empty())
    return success();
  return writeFile(context, path, [&](llvm::raw_ostream &os) {
    os << llvm::formatv("{0:2}\n", toStatistics(program, seconds));
  });
}

static LogicalResult runPartition(ModuleOp module,
                                  const DriverOptions &options) {
  PassManager passes(module.getContext());
  bool isPerDevice =
      llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
        return function->hasAttr(kSpmdAttr);
      });
  if (isPerDevice) {
    // Written by hand: the collectives are as the user wants them, if only
    // they cannot deadlock.
    buildImportPipeline(passes);
    passes.addPass(createVerifyCollectives());
  } else {
    buildPartitionPipeline(passes, options.partition,
                           options.target == Target::CUDA ? MachineKind::GPU
                                                          : MachineKind::CPU);
  }
  return passes.run(module);
}

LogicalResult shoal::partition(ModuleOp module, const DriverOptions &options,
                               StageSeconds &seconds) {
  if (failed(selectEntry(module, options.entry)))
    return failure();
  return timed(seconds, "partition",
               [&] { return runPartition(module, options); });
}

/// Lowers a per-device program for its target and makes the file, if one is
/// asked for.
static FailureOr<LoweredProgram> build(ModuleOp module,
                                       const DriverOptions &options,
                                       StageSeconds &seconds,
                                       OnPrepared onPrepared) {
  // Only now: a program in one of these dialects is a user's error, which
  // MLIR's own parsers do not always survive.
  DialectRegistry dialects;
  registerCUDATarget(dialects);
  module.getContext()->appendDialectRegistry(dialects);
  bool makesFile =
      (options.emit == Emit::Executable || options.emit == Emit::Shared) &&
      !(options.outputPath.empty() && options.files.sharedPath.empty());
  if (options.target == Target::CUDA) {
    FailureOr<CUDAProgram> program = lowerForCUDA(module, seconds, onPrepared);
    if (failed(program) ||
        (makesFile &&
         failed(emitForCUDA(module, *program, options.outputPath, options.files,
                            options.cuda, seconds))))
      return failure();
    return program->program;
  }
  FailureOr<LoweredProgram> program = lowerForCPU(module, seconds, onPrepared);
  if (failed(program) ||
      (makesFile &&
       failed(emitForCPU(module, options.outputPath, options.files, seconds))))
    return failure();
  return program;
}

static bool makesPage(const DriverOptions &options) {
  return options.emit == Emit::Report || options.report;
}

/// Writes what a reader asked for.
static LogicalResult writeTexts(MLIRContext &context,
                                const DriverOptions &options,
                                const LoweredProgram &program,
                                llvm::json::Object listing) {
  if (options.emit == Emit::Summary)
    return writeFile(context, options.outputPath,
                     [&](llvm::raw_ostream &os) { printSummary(program, os); });
  if (!makesPage(options))
    return success();
  StringRef target = options.target == Target::CUDA ? "cuda" : "cpu";
  std::string page;
  llvm::raw_string_ostream os(page);
  writePage(makeReport(program, target, std::move(listing)), os);
  if (options.emit == Emit::Report &&
      failed(writeFile(context, options.outputPath,
                       [&](llvm::raw_ostream &file) { file << page; })))
    return failure();
  if (options.report)
    *options.report = std::move(page);
  return success();
}

FailureOr<LoweredProgram> shoal::emit(ModuleOp module,
                                      const DriverOptions &options,
                                      StageSeconds &seconds) {
  MLIRContext &context = *module.getContext();
  llvm::json::Object listing;
  auto list = [&](ModuleOp prepared) { listing = listProgram(prepared); };
  FailureOr<LoweredProgram> program =
      build(module, options, seconds,
            makesPage(options) ? OnPrepared(list) : OnPrepared());
  if (failed(program) ||
      failed(writeTexts(context, options, *program, std::move(listing))) ||
      failed(writeStatistics(context, options.statsPath, *program, seconds)))
    return failure();
  return program;
}

LogicalResult shoal::compile(MLIRContext &context,
                             const DriverOptions &options) {
  std::string message;
  auto file = openInputFile(options.inputPath, &message);
  if (!file)
    return emitError(UnknownLoc::get(&context)) << message;
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  SourceMgrDiagnosticHandler located(*sources, &context);
  // Errors of no place in the source: files, tools.
  ScopedDiagnosticHandler unlocated(&context, [](Diagnostic &diagnostic) {
    if (!isa<UnknownLoc>(diagnostic.getLocation()))
      return failure();
    llvm::errs() << "shoalc: error: " << diagnostic << '\n';
    for (Diagnostic &note : diagnostic.getNotes())
      llvm::errs() << "shoalc: note: " << note << '\n';
    return success();
  });

  const llvm::MemoryBuffer &text =
      *sources->getMemoryBuffer(sources->getMainFileID());
  if (failed(verifyOutputs(options, UnknownLoc::get(&context))) ||
      failed(verifyNesting(text, &context)))
    return failure();
  StageSeconds seconds;
  OwningOpRef<ModuleOp> module = timed(seconds, "parse", [&] {
    return parseSourceFile<ModuleOp>(sources, &context);
  });
  if (!module || failed(partition(*module, options, seconds)))
    return failure();
  if (options.emit == Emit::Spmd) {
    if (failed(
            writeFile(context, options.outputPath,
                      [&](llvm::raw_ostream &os) { os << *module << '\n'; })))
      return failure();
    if (options.statsPath.empty())
      return success();
  }
  return emit(*module, options, seconds);
}
