// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Fuzz/Mutation.h"
#include "Report.h"
#include "Texts.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "shoal/Transforms/Import/TextLimits.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <tuple>

using namespace mlir;
using namespace shoal::fuzz;

/// What a user may ask of a text, the most usual first.
static constexpr const char *kPipelines[] = {
    "shoal-partition",
    "shoal-partition,shoal-lower-to-cpu",
    "shoal-partition,shoal-lower-to-cuda",
    "shoal-partition",
    "shoal-import,shoal-propagate,shoal-explain",
    "shoal-lower-to-cpu",
    "shoal-lower-to-cuda",
    "func.func(shoal-add-scratch),shoal-lower-runtime-calls",
    "shoal-localize",
    "shoal-plan-reshards,shoal-localize",
    "shoal-verify-assignment",
    "shoal-print-factor-rules",
    "canonicalize,cse",
    "shoal-assign,shoal-explain",
};

namespace {

struct StageFollower : PassInstrumentation {
  explicit StageFollower(StageObserver observe) : observe(observe) {}
  void runBeforePass(Pass *pass, Operation *) override {
    if (!pass->getArgument().empty())
      observe(pass->getArgument());
  }
  StageObserver observe;
};

} // namespace

std::optional<Finding> shoal::fuzz::checkText(MLIRContext &context,
                                              llvm::StringRef text,
                                              Choices &choices,
                                              StageObserver observe) {
  unsigned errors = 0;
  std::string stage, message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && errors++ == 0)
      message = diagnostic.str();
  });
  auto enter = [&](llvm::StringRef name) {
    stage = name.str();
    observe(name);
  };
  auto finding = [&](const llvm::Twine &what) {
    return Finding{stage, what.str()};
  };

  enter("parse");
  if (failed(verifyText(llvm::MemoryBufferRef(text, "mutation"), &context)))
    return std::nullopt;
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return errors > 0 ? std::nullopt : std::optional(finding("no error"));
  if (errors > 0)
    return finding("succeeded with the error " + message);
  enter("text");
  if (failed(RoundTrips().check(*module)))
    return finding(message);

  PassManager passes(&context, "builtin.module");
  passes.addInstrumentation(std::make_unique<StageFollower>(enter));
  std::string problem;
  llvm::raw_string_ostream os(problem);
  if (failed(parsePassPipeline(choices.pick(kPipelines), passes, os)))
    return finding(problem);
  bool succeeds = succeeded(passes.run(*module));
  if (!succeeds && errors == 0)
    return finding("failed without an error");
  if (succeeds && errors > 0)
    return finding("succeeded with the error " + message);
  return std::nullopt;
}

namespace {

class MutationFuzzer {
public:
  MutationFuzzer(MLIRContext &context, const Corpus &corpus,
                 const FuzzOptions &options)
      : context(context), corpus(corpus), options(options) {}

  bool run() {
    runIsolated(
        options.firstSeed, options.lastSeed + 1, options.isolation,
        [&](uint64_t seed, Observer observe) {
          Choices choices(mix(seed));
          return check(corpus.mutate(choices), seed, observe);
        },
        [&](const Outcome &outcome) {
          ItemReport item = ItemReport::decode(outcome);
          if (isForeign(item, outcome.item))
            item = ItemReport();
          if (report.add(outcome.item, item) && options.shrink)
            writeSmall(outcome.item, item.signature);
          return options.maxFailures == 0 ||
                 report.numFailures() < options.maxFailures;
        });
    report.printSummary(llvm::outs());
    return report.numFailures() == 0;
  }

private:
  /// MLIR's own parsers of linalg.generic and linalg.reduce die of attributes
  /// of kinds that they do not expect. Texts of passes alone come there: the
  /// compiler knows no linalg while it reads a program.
  bool isForeign(const ItemReport &item, uint64_t seed) const {
    Choices choices(mix(seed));
    std::string text = corpus.mutate(choices);
    auto has = [&](StringRef op) { return StringRef(text).contains(op); };
    return StringRef(item.signature).starts_with("parse: crash") &&
           (has("linalg.generic") || has("linalg.reduce"));
  }

  std::string check(const std::string &text, uint64_t seed, Observer observe) {
    ItemReport item;
    // Which pipeline runs does not depend on the text, which shrinks.
    Choices pipeline(mix(~seed));
    if (auto finding = checkText(context, text, pipeline, observe)) {
      item.signature = finding->signature();
      item.message = finding->stage + ": " + finding->message;
    }
    return item.encode();
  }

  bool failsAlike(const std::string &text, uint64_t seed,
                  const std::string &signature) {
    bool isAlike = false;
    IsolationOptions alone = options.isolation;
    alone.jobs = 1;
    runIsolated(
        seed, seed + 1, alone,
        [&](uint64_t, Observer observe) { return check(text, seed, observe); },
        [&](const Outcome &outcome) {
          isAlike = ItemReport::decode(outcome).signature == signature;
          return true;
        });
    return isAlike;
  }

  void writeSmall(uint64_t seed, const std::string &signature) {
    Choices choices(mix(seed));
    SmallVector<StringRef> lines;
    std::string text = corpus.mutate(choices);
    StringRef(text).split(lines, '\n');
    // Halves first, then ever smaller pieces.
    for (size_t step = std::max<size_t>(lines.size() / 2, 1);; step /= 2) {
      for (size_t i = lines.size(); i >= step; --i) {
        SmallVector<StringRef> fewer(lines);
        fewer.erase(fewer.begin() + (i - step), fewer.begin() + i);
        if (!failsAlike(llvm::join(fewer, "\n"), seed, signature))
          continue;
        lines = fewer;
        i = std::min(i, lines.size() + 1);
      }
      if (step <= 1)
        break;
    }
    SmallString<128> path(options.outputDirectory);
    // Opening the file says what is wrong with the folder.
    std::ignore = llvm::sys::fs::create_directories(path);
    llvm::sys::path::append(path, "mutation-" + std::to_string(seed) + ".mlir");
    std::error_code error;
    llvm::raw_fd_ostream os(path, error);
    os << "// " << signature << '\n' << llvm::join(lines, "\n") << '\n';
    llvm::outs() << "  shrunk to " << path << '\n';
    llvm::outs().flush();
  }

  MLIRContext &context;
  const Corpus &corpus;
  const FuzzOptions &options;
  RunReport report{"mutation"};
};

} // namespace

bool shoal::fuzz::fuzzMutations(MLIRContext &context, const Corpus &corpus,
                                const FuzzOptions &options) {
  return MutationFuzzer(context, corpus, options).run();
}
