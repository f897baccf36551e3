// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MemoryLimit.h"
#include "shoal/Transforms/Rematerialize/Passes.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "shoal-memory-limit"

using namespace mlir;
using namespace shoal;

/// Choices that are tried behind the one without a limit.
static constexpr unsigned kMaxTightened = 6;

MachineKind shoal::machineOf(const DriverOptions &options) {
  return options.target == Target::CUDA ? MachineKind::GPU : MachineKind::CPU;
}

void shoal::registerLowering(MLIRContext &context) {
  DialectRegistry dialects;
  registerCUDATarget(dialects);
  context.appendDialectRegistry(dialects);
}

/// The functions that a device begins with.
static SmallVector<func::FuncOp> listEntries(ModuleOp module) {
  return llvm::filter_to_vector(
      module.getOps<func::FuncOp>(), [](func::FuncOp function) {
        return function.isPublic() && !function.isExternal() &&
               function.getBody().hasOneBlock();
      });
}

/// What a device holds of the compiled program.
static FailureOr<int64_t> countBytes(ModuleOp module, Target target) {
  OwningOpRef<ModuleOp> copy = module.clone();
  // What is to be said of the program is said when it is compiled.
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &said) {
    return success(said.getSeverity() != DiagnosticSeverity::Error);
  });
  StageSeconds seconds;
  if (target == Target::CUDA) {
    FailureOr<CUDAProgram> program = lowerForCUDA(*copy, seconds, {});
    return failed(program) ? FailureOr<int64_t>()
                           : program->program.peakBytes();
  }
  FailureOr<LoweredProgram> program = lowerForCPU(*copy, seconds, {});
  return failed(program) ? FailureOr<int64_t>() : program->peakBytes();
}

namespace {

/// A program that some of its values are computed again in.
struct Attempt {
  OwningOpRef<ModuleOp> module;
  Rematerialized outcome;
  int64_t bytes = 0;
};

class LimitSearch {
public:
  LimitSearch(ModuleOp module, RematerializeSettings settings, Target target)
      : module(module), settings(std::move(settings)), target(target),
        limit(*this->settings.limit) {}

  LogicalResult run();

private:
  FailureOr<Attempt> attempt(std::optional<int64_t> budget);
  void adopt(Attempt attempt) {
    module->setAttrs(attempt.module.get()->getAttrs());
    module.getBodyRegion().takeBody(attempt.module->getBodyRegion());
  }
  LogicalResult fail(const Attempt &least);

  ModuleOp module;
  RematerializeSettings settings;
  Target target;
  int64_t limit;
};

} // namespace

FailureOr<Attempt> LimitSearch::attempt(std::optional<int64_t> budget) {
  Attempt made;
  made.module = module.clone();
  settings.limit = budget;
  for (func::FuncOp function : listEntries(*made.module))
    made.outcome = rematerialize(function, settings);
  FailureOr<int64_t> bytes = countBytes(*made.module, target);
  if (failed(bytes))
    return failure();
  made.bytes = *bytes;
  LDBG() << "estimated " << made.outcome.estimatedBytes << " bytes, compiled "
         << made.bytes << " of " << limit;
  return made;
}

LogicalResult LimitSearch::fail(const Attempt &least) {
  InFlightDiagnostic error =
      listEntries(module).front().emitError()
      << llvm::formatv("the memory limit is {0:N} bytes a device, but the "
                       "least that was found is {1:N}",
                       limit, least.bytes)
             .str();
  attachLargest(error, least.outcome);
  return error;
}

/// An estimate that is too large by some bytes is lowered by as many: the two
/// differ by what fusion leaves out, which is much the same for all choices.
LogicalResult LimitSearch::run() {
  std::optional<int64_t> budget;
  std::optional<Attempt> least;
  for (unsigned tightened = 0; tightened <= kMaxTightened; ++tightened) {
    FailureOr<Attempt> made = attempt(budget);
    if (failed(made))
      return failure();
    if (made->bytes <= limit) {
      adopt(std::move(*made));
      return success();
    }
    bool isExhausted = !made->outcome.fits;
    int64_t estimate = made->outcome.estimatedBytes;
    budget =
        std::min(budget.value_or(estimate), estimate) - (made->bytes - limit);
    if (!least || made->bytes < least->bytes)
      least = std::move(*made);
    if (isExhausted)
      break;
  }
  return fail(*least);
}

LogicalResult shoal::keepMemoryLimit(ModuleOp module,
                                     const DriverOptions &options) {
  FailureOr<RematerializeSettings> settings = readRematerializeSettings(
      options.partition.remat, options.partition.rematCollectives,
      options.partition.memoryLimit, machineOf(options), module.getLoc());
  if (failed(settings))
    return failure();
  for (func::FuncOp function : listEntries(module))
    if (failed(checkPolicies(function, *settings)))
      return failure();
  if (settings->limit && !listEntries(module).empty()) {
    registerLowering(*module.getContext());
    return LimitSearch(module, *settings, options.target).run();
  }
  for (func::FuncOp function : listEntries(module))
    rematerialize(function, *settings);
  return success();
}
