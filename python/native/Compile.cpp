// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Compile.h"
#include "mlir/IR/AsmState.h"
#include "shoal/Transforms/Import/TextLimits.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace shoal::python {

namespace {

/// A context of its own for each call: calls do not see each other.
class Compilation {
public:
  explicit Compilation(
      const OnStage &onStage = {},
      MLIRContext::Threading threading = MLIRContext::Threading::ENABLED)
      : context(makeRegistry(), threading), collector(&context) {
    // The location says it; the op in generic form is for pass authors.
    context.printOpOnDiagnostic(false);
    if (onStage)
      seconds.onStage = [&onStage](StringRef stage) { onStage(stage.str()); };
  }

  /// Null after an error.
  OwningOpRef<ModuleOp> parse(const std::string &text,
                              const std::string &source) {
    return shoal::parse(makeSources(text, source), context, seconds);
  }

  FailureOr<Compiled> compile(const std::string &text,
                              const std::string &source,
                              const DriverOptions &options) {
    return shoal::compile(context, makeSources(text, source), options, seconds);
  }

  /// What was said so far, with no result.
  Outcome fail() const { return finish({}, /*succeeded=*/false); }

  Outcome succeed(std::string text) const {
    Outcome outcome;
    outcome.text = std::move(text);
    return finish(std::move(outcome));
  }

  Outcome finish(Outcome outcome, bool succeeded = true) const {
    outcome.succeeded = succeeded;
    outcome.messages = collector.messages();
    return outcome;
  }

  StageSeconds seconds;

private:
  static std::shared_ptr<llvm::SourceMgr>
  makeSources(const std::string &text, const std::string &source) {
    auto sources = std::make_shared<llvm::SourceMgr>();
    sources->AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBufferCopy(text, source), llvm::SMLoc());
    return sources;
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerCompiler(registry);
    return registry;
  }

  MLIRContext context;
  MessageCollector collector;
};

} // namespace

static std::string print(ModuleOp module, bool withLocations, bool generic) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  flags.enableDebugInfo(withLocations).printGenericOpForm(generic);
  module.print(os, flags);
  os << '\n';
  return text;
}

Outcome verifyLimits(const std::string &text, const std::string &source) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  MessageCollector collector(&context);
  Outcome outcome;
  outcome.succeeded = succeeded(
      shoal::verifyText(llvm::MemoryBufferRef(text, source), &context));
  outcome.messages = collector.messages();
  return outcome;
}

Outcome format(const std::string &text, const std::string &source,
               bool withLocations, bool generic) {
  Compilation compilation;
  OwningOpRef<ModuleOp> module = compilation.parse(text, source);
  if (!module)
    return compilation.fail();
  return compilation.succeed(print(*module, withLocations, generic));
}

Outcome partitionText(const std::string &text, const std::string &source,
                      const DriverOptions &options, bool withLocations,
                      const OnStage &onStage) {
  Compilation compilation(onStage);
  OwningOpRef<ModuleOp> module = compilation.parse(text, source);
  if (!module || failed(partition(*module, options, compilation.seconds)))
    return compilation.fail();
  return compilation.succeed(print(*module, withLocations, /*generic=*/false));
}

Outcome compileText(const std::string &text, const std::string &source,
                    DriverOptions options, const std::string &executable,
                    const std::string &shared, bool withReport, bool isSummary,
                    const OnStage &onStage) {
  Compilation compilation(onStage);
  options.emit = isSummary ? Emit::Summary : Emit::Executable;
  options.outputPath = executable;
  options.files.sharedPath = shared;
  Outcome outcome;
  options.report = withReport ? &outcome.report : nullptr;
  FailureOr<Compiled> compiled = compilation.compile(text, source, options);
  if (failed(compiled))
    return compilation.fail();
  outcome.description = std::move(compiled->description);
  outcome.statistics = std::move(compiled->statistics);
  return compilation.finish(std::move(outcome));
}

Outcome simulateText(const std::string &text, const std::string &source,
                     DriverOptions options, const OnStage &onStage) {
  // A program of one function; who simulates several has a thread for each.
  Compilation compilation(onStage, MLIRContext::Threading::DISABLED);
  Outcome outcome;
  options.emit = Emit::Executable;
  options.forecast = &outcome.forecast;
  FailureOr<Compiled> compiled = compilation.compile(text, source, options);
  if (failed(compiled))
    return compilation.fail();
  outcome.statistics = std::move(compiled->statistics);
  return compilation.finish(std::move(outcome));
}

} // namespace shoal::python
