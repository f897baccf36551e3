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
/// The same where a policy keeps the limit.
static constexpr unsigned kMaxImproved = 3;
/// Policies that the search is never worse than.
static constexpr StringRef kPolicies[] = {"selective", "dots", "dots_no_batch",
                                          "nothing"};
/// By how much of the limit a policy's estimate may be beyond it: estimates are
/// not exact, and one that is too large must not hide the policy.
static constexpr double kDoubt = 0.125;

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
  Attempt transform(const RematerializePolicy &policy,
                    std::optional<int64_t> budget);
  LogicalResult compile(Attempt &attempt);
  std::optional<Attempt> findPolicy(int64_t excess);
  LogicalResult tighten(Attempt least, std::optional<Attempt> best);
  LogicalResult adopt(Attempt attempt) {
    module->setAttrs(attempt.module.get()->getAttrs());
    module.getBodyRegion().takeBody(attempt.module->getBodyRegion());
    return success();
  }
  LogicalResult fail(const Attempt &least);

  ModuleOp module;
  RematerializeSettings settings;
  Target target;
  int64_t limit;
};

} // namespace

Attempt LimitSearch::transform(const RematerializePolicy &policy,
                               std::optional<int64_t> budget) {
  Attempt made;
  made.module = module.clone();
  RematerializeSettings own = settings;
  own.policy = policy;
  own.limit = budget;
  for (func::FuncOp function : listEntries(*made.module))
    made.outcome = rematerialize(function, own);
  return made;
}

LogicalResult LimitSearch::compile(Attempt &attempt) {
  FailureOr<int64_t> bytes = countBytes(*attempt.module, target);
  if (failed(bytes))
    return failure();
  attempt.bytes = *bytes;
  LDBG() << "estimated " << attempt.outcome.estimatedBytes
         << " bytes, compiled " << attempt.bytes << " of " << limit;
  return success();
}

/// The policy that keeps the limit and computes least again, where the user
/// named none. excess: by how much estimates are more than what is compiled.
std::optional<Attempt> LimitSearch::findPolicy(int64_t excess) {
  if (settings.policy.kind != RematerializePolicy::Kind::Everything)
    return std::nullopt;
  SmallVector<Attempt, 4> attempts;
  for (StringRef name : kPolicies) {
    RematerializePolicy policy = *RematerializePolicy::parse(name);
    policy.collectives = settings.policy.collectives;
    Attempt made = transform(policy, {});
    if (made.outcome.estimatedBytes - excess > limit * (1 + kDoubt))
      continue;
    auto *place = llvm::find_if(attempts, [&](const Attempt &other) {
      return made.outcome.repeatedCost < other.outcome.repeatedCost;
    });
    attempts.insert(place, std::move(made));
  }
  for (Attempt &made : attempts)
    if (succeeded(compile(made)) && made.bytes <= limit)
      return std::move(made);
  return std::nullopt;
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

LogicalResult LimitSearch::run() {
  Attempt first = transform(settings.policy, std::nullopt);
  if (failed(compile(first)))
    return failure();
  if (first.bytes <= limit)
    return adopt(std::move(first));
  std::optional<Attempt> best =
      findPolicy(first.outcome.estimatedBytes - first.bytes);
  return tighten(std::move(first), std::move(best));
}

/// An estimate that is too large by some bytes is lowered by as many: the two
/// differ by what fusion leaves out, which is much the same for all choices.
/// What computes as much again as `best`, or more, is not compiled.
LogicalResult LimitSearch::tighten(Attempt least, std::optional<Attempt> best) {
  int64_t estimate = least.outcome.estimatedBytes;
  int64_t budget = estimate - (least.bytes - limit);
  for (unsigned left = best ? kMaxImproved : kMaxTightened; left > 0; --left) {
    Attempt made = transform(settings.policy, budget);
    if (best && made.outcome.repeatedCost >= best->outcome.repeatedCost)
      break;
    if (failed(compile(made)))
      return failure();
    if (made.bytes <= limit)
      return adopt(std::move(made));
    bool isExhausted = !made.outcome.fits;
    budget =
        std::min(budget, made.outcome.estimatedBytes) - (made.bytes - limit);
    if (made.bytes < least.bytes)
      least = std::move(made);
    if (isExhausted)
      break;
  }
  return best ? adopt(std::move(*best)) : fail(least);
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
