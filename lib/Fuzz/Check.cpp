// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Fuzz/Check.h"
#include "Gradients.h"
#include "Runs.h"
#include "Texts.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "shoal/Dialect/Shoal/IR/FourierOps.h"
#include "shoal/Support/Threshold.h"
#include "shoal/Transforms/Collectives/Passes.h"
#include "shoal/Transforms/Import/Passes.h"
#include "shoal/Transforms/Pipelines.h"
#include "shoal/Transforms/Sparse/Passes.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::fuzz;
using namespace shoal::reference;

namespace {

/// Follows the passes and checks the text of every stage.
class Stages : public PassInstrumentation {
public:
  Stages(StageObserver observe, std::string &stage, Census &census)
      : observe(observe), stage(stage), census(census) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    if (pass->getArgument().empty())
      return;
    enter(pass->getArgument());
  }
  void runAfterPass(Pass *pass, Operation *op) override {
    if (!isa<ModuleOp>(op) || !pass->getArgument().starts_with("shoal-"))
      return;
    enter(("text of " + pass->getArgument()).str());
    if (failed(texts.check(op)))
      isTextWrong = true;
    if (pass->getArgument() == "shoal-assign")
      census.addAssigned(cast<ModuleOp>(op));
  }

  bool isTextWrong = false;

private:
  void enter(StringRef name) {
    if (isTextWrong)
      return;
    stage = name.str();
    observe(stage);
  }

  StageObserver observe;
  std::string &stage;
  Census &census;
  RoundTrips texts;
};

class Checker {
public:
  Checker(Program &program, const CheckOptions &options, StageObserver observe,
          Census &census)
      : program(program), options(options), observe(observe), census(census),
        context(program.module->getContext()),
        handler(context, [this](Diagnostic &diagnostic) { note(diagnostic); }) {
  }

  std::optional<Finding> run() {
    support::takeSides(); // those of the program before
    bool isWrong = failed(check());
    sides.push_back(support::takeSides());
    census.addSides(sides);
    if (isWrong)
      return Finding{stage,
                     message.empty() ? "failed without an error" : message};
    // A pass that succeeds reports no error.
    if (!message.empty())
      return Finding{stage, "succeeded with the error " + message};
    return std::nullopt;
  }

private:
  void note(Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return;
    if (message.empty())
      message = diagnostic.str();
    for (Diagnostic &more : diagnostic.getNotes())
      message += "\nnote: " + more.str();
  }

  void enter(StringRef name) {
    stage = name.str();
    observe(name);
  }

  LogicalResult check();
  LogicalResult differentiate();
  LogicalResult decompose(ModuleOp module);
  LogicalResult checkPartitioned(ModuleOp module, ArrayRef<Tensor> expected,
                                 StringRef suffix);
  LogicalResult checkRewritten(ModuleOp partitioned, ArrayRef<Tensor> expected,
                               StringRef suffix,
                               function_ref<void(OpPassManager &)> build);
  LogicalResult runPasses(ModuleOp module,
                          function_ref<void(OpPassManager &)> build);
  FailureOr<Tensors> runGlobal();
  LogicalResult compare(ArrayRef<Tensor> expected, ArrayRef<Tensor> actual) {
    if (auto difference = compareResults(expected, actual, program.results)) {
      message = *difference;
      return failure();
    }
    return success();
  }
  static func::FuncOp entryOf(ModuleOp module) {
    return module.lookupSymbol<func::FuncOp>("main");
  }

  Program &program;
  const CheckOptions &options;
  StageObserver observe;
  Census &census;
  MLIRContext *context;
  std::string stage, message;
  /// Of thresholds, in the executables.
  SmallVector<std::string> sides;
  ScopedDiagnosticHandler handler;
  SmallVector<Tensor> inputs;
};

} // namespace

LogicalResult Checker::runPasses(ModuleOp module,
                                 function_ref<void(OpPassManager &)> build) {
  PassManager passes(context, "builtin.module");
  auto stages = std::make_unique<Stages>(observe, stage, census);
  Stages *view = stages.get();
  passes.addInstrumentation(std::move(stages));
  build(passes);
  return success(succeeded(passes.run(module)) && !view->isTextWrong);
}

FailureOr<Tensors> Checker::runGlobal() {
  OwningOpRef<ModuleOp> module = program.module->clone();
  if (failed(decompose(*module)))
    return failure();
  enter("interpret global");
  FailureOr<Signature> signature = Signature::read(entryOf(*module));
  if (failed(signature))
    return failure();
  inputs = makeInputs(*signature, program.arguments, options.inputSeed);
  return interpretProgram(entryOf(*module), inputs);
}

/// Whether the compiler refuses the program for CUDA: see the call's
/// whyNotOnDevice.
static bool isForCPUsAlone(ModuleOp module) {
  return module.walk([](FftOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Runs a per-device program in all ways. The names of the stages end in
/// `suffix`.
LogicalResult Checker::checkPartitioned(ModuleOp module,
                                        ArrayRef<Tensor> expected,
                                        StringRef suffix) {
  auto enterOne = [&](StringRef name) { enter((name + suffix).str()); };
  enterOne("interpret partitioned");
  FailureOr<Tensors> actual = interpretProgram(entryOf(module), inputs);
  if (failed(actual))
    return failure();
  enterOne("compare");
  if (failed(compare(expected, *actual)))
    return failure();
  if (!options.execute || (options.emulated && isForCPUsAlone(module)))
    return success();

  FailureOr<Signature> signature = Signature::read(entryOf(module));
  if (failed(signature))
    return failure();
  FailureOr<Tensors> executed = executeProgram(
      module, *signature, inputs, options, enterOne, sides, message);
  if (failed(executed))
    return failure();
  enterOne("compare executed");
  return compare(expected, *executed);
}

/// Rewrites a copy of a per-device program and runs it, if that changes it.
LogicalResult
Checker::checkRewritten(ModuleOp partitioned, ArrayRef<Tensor> expected,
                        StringRef suffix,
                        function_ref<void(OpPassManager &)> build) {
  OwningOpRef<ModuleOp> rewritten = partitioned.clone();
  if (failed(runPasses(*rewritten, [&](OpPassManager &passes) {
        build(passes);
        passes.addPass(createVerifyCollectives());
      })))
    return failure();
  // Mostly there is nothing to rewrite.
  if (OperationEquivalence::isEquivalentTo(
          *rewritten, partitioned, OperationEquivalence::IgnoreLocations))
    return success();
  return checkPartitioned(*rewritten, expected, suffix);
}

/// Most programs do with a plan that is found soon: what the passes behind make
/// of a plan does not depend on how good it is, and there are more kinds of
/// reshards in bad ones.
static LogicalResult searchLittle(OpPassManager &passes) {
  for (Pass &pass : passes.getPasses())
    if (pass.getArgument() == "shoal-assign")
      return pass.initializeOptions("effort=descent", [](const Twine &error) {
        llvm::report_fatal_error(error);
        return failure();
      });
  return failure();
}

LogicalResult Checker::decompose(ModuleOp module) {
  return runPasses(module, [](OpPassManager &passes) {
    passes.addPass(createDecomposeComposites());
  });
}

/// Makes the program its derivative, compares that with differences and
/// measures its errors.
LogicalResult Checker::differentiate() {
  auto places = DerivativePlaces::of(program.entry);
  if (places.empty())
    return success();
  size_t numResults = program.results.size();
  // Widened before, so that a rule's constants are not rounded to what they
  // are of.
  Program wideProgram = program.clone();
  wideProgram.module = widenFloats(*program.module);
  wideProgram.entry = entryOf(*wideProgram.module);
  OwningOpRef<ModuleOp> function = wideProgram.module->clone();
  for (Program *each : {&program, &wideProgram}) {
    if (failed(runPasses(*each->module, [&](OpPassManager &passes) {
          buildDerivative(passes, places);
        })))
      return failure();
    enterDerivative(*each, places);
  }
  ModuleOp derivative = *wideProgram.module;
  if (failed(decompose(*function)) || failed(decompose(derivative)))
    return failure();
  FailureOr<Tensors> results = runGlobal();
  if (failed(results))
    return failure();
  enter("interpret in f64");
  SmallVector<Tensor> wideInputs = widen(inputs);
  FailureOr<Tensors> wide = interpretProgram(entryOf(derivative), wideInputs);
  if (failed(wide))
    return failure();
  measureErrors(*results, *wide, numResults, program.results);
  enter("compare with differences");
  return checkDifferences(entryOf(*function), entryOf(derivative), places,
                          ArrayRef(wideInputs).drop_back(places.outputs.size()),
                          options.inputSeed, message);
}

LogicalResult Checker::check() {
  census.addDrawn(*program.module);
  enter("verify");
  if (failed(verify(*program.module)))
    return failure();
  enter("text");
  if (failed(RoundTrips().check(*program.module)))
    return failure();
  if (options.gradients && failed(differentiate()))
    return failure();
  FailureOr<Tensors> expected = runGlobal();
  if (failed(expected))
    return failure();

  bool searchesWell = options.inputSeed % 4 == 0;
  if (failed(runPasses(*program.module, [&](OpPassManager &passes) {
        buildPartitionPipeline(passes);
        if (!searchesWell && failed(searchLittle(passes)))
          llvm_unreachable("the pipeline assigns shardings");
      })))
    return failure();
  OwningOpRef<ModuleOp> partitioned = program.module->clone();
  if (failed(checkPartitioned(*program.module, *expected, "")))
    return failure();
  if (!options.rewrite)
    return success();
  // The same with windowed einsums wherever that is possible.
  if (failed(checkRewritten(
          *partitioned, *expected, " windowed", [](OpPassManager &passes) {
            passes.addPass(
                createWindowEinsums({/*bytes=*/1, /*overlap=*/true}));
          })))
    return failure();
  // And with one-hot einsums at sparse cost however little that saves.
  return checkRewritten(
      *partitioned, *expected, " sparse", [](OpPassManager &passes) {
        passes.addNestedPass<func::FuncOp>(
            createSparsifyEinsums({/*minGain=*/0, /*explain=*/false}));
        passes.addPass(createCanonicalizerPass());
        passes.addPass(createCSEPass());
      });
}

CheckOptions shoal::fuzz::upTo(StringRef stage, const CheckOptions &check) {
  CheckOptions result = check;
  // What runs the program as it is drawn; all other stages are passes, and
  // those of a rewritten program say so at their end.
  static constexpr StringRef executes[] = {"lower to c", "emit for c",
                                           "execute", "compare executed"};
  static constexpr StringRef interprets[] = {"verify",
                                             "text",
                                             "interpret global",
                                             "interpret in f64",
                                             "compare",
                                             "interpret partitioned",
                                             "compare with differences"};
  bool isExecuted = llvm::any_of(
      executes, [&](StringRef name) { return stage.starts_with(name); });
  bool isRewritten = stage.ends_with(" windowed") || stage.ends_with(" sparse");
  bool isPass =
      !isExecuted && !isRewritten && !llvm::is_contained(interprets, stage);
  result.execute &= isExecuted;
  result.rewrite &= isRewritten || isPass;
  return result;
}

std::optional<Finding> shoal::fuzz::checkProgram(Program &program,
                                                 const CheckOptions &options,
                                                 StageObserver observe,
                                                 Census &census) {
  return Checker(program, options, observe, census).run();
}
