// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Compiler/Driver.h"
#include "CompileCache.h"
#include "MemoryLimit.h"
#include "Outputs.h"
#include "Plan.h"
#include "Simulation.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Transforms/Passes.h"
#include "shoal/Compiler/Report.h"
#include "shoal/Conversion/Checks/Passes.h"
#include "shoal/InitShoal.h"
#include "shoal/Report/Report.h"
#include "shoal/Transforms/Import/TextLimits.h"
#include "llvm/Support/SourceMgr.h"
#include <cmath>
#include <cstdlib>

using namespace mlir;
using namespace shoal;

void shoal::registerCompiler(DialectRegistry &registry) {
  registerShoalDialects(registry);
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

/// That there is something to compile; how many functions may be public, later
/// stages say.
static LogicalResult verifyEntry(ModuleOp module) {
  auto functions = module.getOps<func::FuncOp>();
  if (functions.empty())
    return module.emitError("the program has no function");
  auto isEntry = [](func::FuncOp function) { return function.isPublic(); };
  auto entry = llvm::find_if(functions, isEntry);
  if (entry == functions.end())
    return (*functions.begin()).emitError("expected a public function, but @")
           << (*functions.begin()).getName() << " is private"
           << (llvm::hasSingleElement(functions) ? "" : ", as all others are");
  if ((*entry).isExternal())
    return (*entry).emitError("@")
           << (*entry).getName() << " is declared without a body";
  return success();
}

static LogicalResult writeStatistics(MLIRContext &context, StringRef path,
                                     const Compiled &compiled) {
  if (path.empty())
    return success();
  return writeFile(context, path, [&](llvm::raw_ostream &os) {
    os << llvm::formatv("{0:2}\n",
                        llvm::cantFail(llvm::json::parse(compiled.statistics)));
  });
}

static LogicalResult runPartition(ModuleOp module,
                                  const DriverOptions &options) {
  bool isPerDevice =
      llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp function) {
        return function->hasAttr(kSpmdAttr);
      });
  auto build = [&](OpPassManager &passes) {
    if (isPerDevice) {
      // Written by hand: the collectives are as the user wants them, if only
      // they cannot deadlock.
      buildImportPipeline(passes);
      passes.addPass(createVerifyCollectives());
    } else {
      buildDevicePipeline(passes, options.partition, machineOf(options));
    }
  };
  return runPasses(module, build, options.verifyEach);
}

LogicalResult shoal::partition(ModuleOp module, const DriverOptions &options,
                               StageSeconds &seconds) {
  if (failed(selectEntry(module, options.entry)) || failed(verifyEntry(module)))
    return failure();
  if (failed(timed(seconds, "partition",
                   [&] { return runPartition(module, options); })))
    return failure();
  return timed(seconds, "rematerialize",
               [&] { return keepMemoryLimit(module, options); });
}

bool shoal::isFiniteCheck(StringRef text) {
  return text.empty() || text == "all" || text == "nan";
}

CheckOptions shoal::withEnvironment(CheckOptions options) {
  auto read = [](const char *name) {
    const char *text = std::getenv(name);
    return StringRef(text && StringRef(text) != "0" ? text : "");
  };
  if (options.finite.empty())
    options.finite = read("SHOAL_CHECK_FINITE");
  if (options.finite == "1")
    options.finite = "all";
  options.replicas |= !read("SHOAL_CHECK_REPLICAS").empty();
  return options;
}

LogicalResult shoal::chooseOptLevel(MLIRContext &context,
                                    TargetOptions &options) {
  Location loc = UnknownLoc::get(&context);
  if (const char *text = std::getenv("SHOAL_OPT_LEVEL");
      text && !options.optLevel) {
    unsigned level = 0;
    if (StringRef(text).getAsInteger(10, level))
      return emitError(loc) << "SHOAL_OPT_LEVEL: expected 0 to " << kMaxOptLevel
                            << " but got \"" << text << "\"";
    options.optLevel = level;
  }
  options.optLevel = options.optLevel.value_or(kMaxOptLevel);
  if (*options.optLevel > kMaxOptLevel)
    return emitError(loc) << "opt-level: expected 0 to " << kMaxOptLevel
                          << " but got " << *options.optLevel;
  return success();
}

static LogicalResult insertChecks(ModuleOp module, const CheckOptions &checks) {
  if (!isFiniteCheck(checks.finite))
    return emitError(UnknownLoc::get(module.getContext()))
           << "check-finite: expected all or nan but got \"" << checks.finite
           << "\"";
  if (!checks.any())
    return success();
  InsertChecksOptions options;
  options.nan = !checks.finite.empty();
  options.inf = checks.finite == "all";
  options.replicas = checks.replicas;
  PassManager passes(module.getContext());
  // Ops that are the same, or compute nothing, are not told apart.
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createInsertChecks(options));
  return passes.run(module);
}

static LogicalResult verifyOverlap(const DriverOptions &options, Location loc) {
  double memory = options.cuda.overlapMemory;
  if (!(memory >= 0 && std::isfinite(memory)))
    return emitError(loc) << "overlap-memory: expected a number of at least 0 "
                             "but got "
                          << llvm::formatv("{0}", memory).str();
  return success();
}

/// Lowers a per-device program for its target and makes the file, if one is
/// asked for.
static FailureOr<LoweredProgram>
build(ModuleOp module, const DriverOptions &options, StageSeconds &seconds,
      OnPrepared onPrepared, OnPlanned onPlanned, OpDurations durationOf) {
  registerLowering(*module.getContext());
  if (failed(insertChecks(module, options.checks)))
    return failure();
  bool makesFile =
      (options.emit == Emit::Executable || options.emit == Emit::Shared) &&
      !(options.outputPath.empty() && options.files.sharedPath.empty());
  if (options.target == Target::CUDA) {
    FailureOr<CUDAProgram> program =
        lowerForCUDA(module, seconds, onPrepared, onPlanned, makesFile,
                     {std::move(durationOf), options.cuda.overlapMemory},
                     options.verifyEach);
    if (failed(program) ||
        (makesFile &&
         failed(emitForCUDA(module, *program, options.outputPath, options.files,
                            options.cuda, seconds))))
      return failure();
    return program->program;
  }
  FailureOr<LoweredProgram> program =
      lowerForCPU(module, seconds, onPrepared, onPlanned, options.verifyEach);
  if (failed(program) ||
      (makesFile && failed(emitForCPU(module, *program, options.outputPath,
                                      options.files, seconds))))
    return failure();
  return program;
}

/// What a GPU does not hold ends only when it is run, after all were waited
/// for. advice: what the program says of memory, which is one warning with
/// this, or one by itself.
static void warnOfMemory(ModuleOp module, const DriverOptions &options,
                         const LoweredProgram &program, StringRef advice) {
  std::optional<ChipMemory> chip = chipMemoryOf(options);
  if (!chip || program.peakBytes() <= chip->bytes ||
      !options.partition.memoryLimit.empty()) {
    if (!advice.empty())
      emitWarning(module.getLoc()) << advice;
    return;
  }
  StringRef what =
      keepsChipMemory(options)
          ? "whatever is computed again; split more of it, or say by "
            "memory-limit (memory_limit) what another GPU has"
          : "memory-limit (memory_limit) has what does not fit computed again";
  emitWarning(module.getLoc())
      << llvm::formatv("a device holds {0:N} bytes, and {1} has {2:N} for a "
                       "program: {3}",
                       program.peakBytes(), chip->name, chip->bytes, what)
             .str()
      << (advice.empty() ? "" : "; ") << advice;
}

static StringRef nameOf(Target target) {
  return target == Target::CUDA ? "cuda" : "cpu";
}

static bool makesPage(const DriverOptions &options) {
  return options.emit == Emit::Report || options.report;
}

/// Writes what a reader asked for.
static LogicalResult
writeTexts(MLIRContext &context, const DriverOptions &options,
           const LoweredProgram &program, llvm::json::Object listing,
           ArrayRef<LiveBuffer> largest, const Forecast *forecast) {
  if (options.emit == Emit::Summary)
    return writeFile(context, options.outputPath, [&](llvm::raw_ostream &os) {
      printSummary(program, largest, forecast, machineOf(machineOf(options)),
                   os);
    });
  if (!makesPage(options))
    return success();
  std::string page;
  llvm::raw_string_ostream os(page);
  writePage(makeReport(program, nameOf(options.target),
                       machineOf(machineOf(options)), std::move(listing),
                       largest, forecast),
            os);
  if (options.emit == Emit::Report &&
      failed(writeFile(context, options.outputPath,
                       [&](llvm::raw_ostream &file) { file << page; })))
    return failure();
  if (options.report)
    *options.report = std::move(page);
  return success();
}

static std::string print(const llvm::json::Value &value) {
  return llvm::formatv("{0}", value);
}

/// With what was predicted, if anything was.
static llvm::json::Value withForecast(llvm::json::Value statistics,
                                      const Forecast *forecast) {
  if (forecast)
    (*statistics.getAsObject())["predicted"] = toJson(*forecast);
  return statistics;
}

/// Lowers a per-device program and writes what the options ask for, but for its
/// statistics.
static FailureOr<Compiled> emit(ModuleOp module, const DriverOptions &options,
                                StageSeconds &seconds) {
  MLIRContext &context = *module.getContext();
  llvm::json::Object listing;
  ProgramFacts facts;
  Simulation simulation(options);
  auto look = [&](ModuleOp prepared) {
    if (makesPage(options))
      listing = listProgram(prepared);
    facts = extractFacts(prepared);
    simulation.prepare(prepared);
  };
  auto take = [&](func::FuncOp main) { simulation.take(main); };
  auto durationOf = [&](Operation *op) { return simulation.durationOf(op); };
  std::string advice = takeMemoryAdvice(module);
  FailureOr<LoweredProgram> program =
      build(module, options, seconds, look, take, durationOf);
  if (failed(program))
    return failure();
  warnOfMemory(module, options, *program, advice);
  FailureOr<const Forecast *> forecast = simulation.run(context, *program);
  if (failed(forecast))
    return failure();
  std::vector<LiveBuffer> largest = describeLiveBuffers(facts, *program);
  if (failed(writeTexts(context, options, *program, std::move(listing), largest,
                        *forecast)))
    return failure();
  return Compiled{
      print(toMetadata(program->description, nameOf(options.target),
                       program->arenaBytes)),
      print(withForecast(toStatistics(*program, largest, seconds), *forecast))};
}

OwningOpRef<ModuleOp>
shoal::parse(const std::shared_ptr<llvm::SourceMgr> &sources,
             MLIRContext &context, StageSeconds &seconds) {
  const llvm::MemoryBuffer &text =
      *sources->getMemoryBuffer(sources->getMainFileID());
  if (failed(verifyText(text, &context)))
    return nullptr;
  return timed(seconds, "parse",
               [&] { return parseSourceFile<ModuleOp>(sources, &context); });
}

/// The files that the options ask for, from the program's text.
static FailureOr<Compiled>
compileText(MLIRContext &context,
            const std::shared_ptr<llvm::SourceMgr> &sources,
            const DriverOptions &options, StageSeconds &seconds) {
  OwningOpRef<ModuleOp> module = parse(sources, context, seconds);
  if (!module || failed(partition(*module, options, seconds)))
    return failure();
  if (options.emit == Emit::Spmd) {
    if (failed(
            writeFile(context, options.outputPath,
                      [&](llvm::raw_ostream &os) { os << *module << '\n'; })))
      return failure();
    if (options.statsPath.empty() && options.machinePath.empty())
      return Compiled();
  }
  return emit(*module, options, seconds);
}

/// Nothing is compiled, and nothing kept.
static FailureOr<Compiled>
planText(MLIRContext &context, const std::shared_ptr<llvm::SourceMgr> &sources,
         const DriverOptions &options, StageSeconds &seconds) {
  if (!options.statsPath.empty())
    return emitError(UnknownLoc::get(&context))
           << "plan: statistics are of a program that is compiled: compile "
              "what --plan writes";
  OwningOpRef<ModuleOp> module = parse(sources, context, seconds);
  if (!module || failed(selectEntry(*module, options.entry)) ||
      failed(verifyEntry(*module)) || failed(planProgram(*module, options)))
    return failure();
  return Compiled();
}

/// What the cache has, with the time that this took.
static FailureOr<std::optional<Compiled>> load(const CompileCache &cache,
                                               StageSeconds &seconds) {
  if (!cache.isOn())
    return std::optional<Compiled>();
  FailureOr<std::optional<Compiled>> found =
      timed(seconds, "cache", [&] { return cache.load(); });
  if (failed(found) || !*found)
    return found;
  llvm::json::Value statistics =
      llvm::cantFail(llvm::json::parse((*found)->statistics));
  (*statistics.getAsObject())["compile_seconds"] = toStatistics(seconds);
  (*found)->statistics = print(statistics);
  return found;
}

FailureOr<Compiled>
shoal::compile(MLIRContext &context,
               const std::shared_ptr<llvm::SourceMgr> &sources,
               const DriverOptions &given, StageSeconds &seconds) {
  DriverOptions options = given;
  options.checks = withEnvironment(given.checks);
  if (failed(chooseOptLevel(context, options.files)) ||
      failed(verifySimulation(options, UnknownLoc::get(&context))) ||
      failed(verifyOverlap(options, UnknownLoc::get(&context))))
    return failure();
  if (options.emit == Emit::Plan)
    return planText(context, sources, options, seconds);
  CompileCache cache(context, options,
                     *sources->getMemoryBuffer(sources->getMainFileID()));
  FailureOr<std::optional<Compiled>> found = load(cache, seconds);
  if (failed(found))
    return failure();
  FailureOr<Compiled> compiled = failure();
  if (*found) {
    compiled = std::move(**found);
  } else {
    DiagnosticRecorder recorder(&context);
    compiled = compileText(context, sources, options, seconds);
    if (succeeded(compiled))
      cache.store(*compiled, recorder.getMessages());
  }
  if (failed(compiled) ||
      failed(writeStatistics(context, options.statsPath, *compiled)))
    return failure();
  return compiled;
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
    StringRef kind = diagnostic.getSeverity() == DiagnosticSeverity::Warning
                         ? "warning"
                         : "error";
    llvm::errs() << "shoalc: " << kind << ": " << diagnostic << '\n';
    for (Diagnostic &note : diagnostic.getNotes())
      llvm::errs() << "shoalc: note: " << note << '\n';
    return success();
  });
  if (failed(verifyOutputs(options, UnknownLoc::get(&context))))
    return failure();
  StageSeconds seconds;
  return compile(context, sources, options, seconds);
}
