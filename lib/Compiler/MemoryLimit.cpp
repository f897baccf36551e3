// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MemoryLimit.h"
#include "shoal/Machine/ClusterFile.h"
#include "shoal/Transforms/Rematerialize/Passes.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "shoal-memory-limit"

using namespace mlir;
using namespace shoal;
using Collectives = RematerializePolicy::Collectives;

/// Choices that are tried behind the one without a limit.
static constexpr unsigned kMaxTightened = 6;
/// The same where a policy keeps the limit.
static constexpr unsigned kMaxImproved = 3;
/// Policies that the search is never worse than.
static constexpr StringRef kPolicies[] = {"selective", "dots", "dots_no_batch",
                                          "nothing"};
/// By how much of the limit what is expected of a program may be beyond it:
/// estimates are not exact, and one that is too large must not hide what fits.
static constexpr double kDoubt = 0.25;

namespace {
/// As the files of machines/ have them, less what a driver and NCCL hold:
/// test/Tools/shoalc-cuda-chips.mlir. An A100 is that of 80 GB.
struct KnownChip {
  StringRef arch, name;
  int64_t bytes;
};
} // namespace

static constexpr KnownChip kChips[] = {{"sm_80", "an A100", 83'500'000'000},
                                       {"sm_90", "an H100", 83'500'000'000},
                                       {"sm_100", "a B200", 189'000'000'000},
                                       {"sm_103", "a B300", 285'000'000'000}};

std::optional<ChipMemory> shoal::chipMemoryOf(const DriverOptions &options) {
  if (options.target != Target::CUDA)
    return std::nullopt;
  const std::string &file = machineFileOf(options);
  if (!file.empty()) {
    support::Result<Cluster> read = readCluster(file);
    if (!read) // which is said where the machine is needed
      return std::nullopt;
    return ChipMemory{"a chip of " + read->name,
                      int64_t(read->chip.memory - read->chip.reserved)};
  }
  for (StringRef arch : options.cuda.archs)
    for (const KnownChip &chip : kChips)
      if (arch == chip.arch)
        return ChipMemory{chip.name.str(), chip.bytes};
  return std::nullopt;
}

bool shoal::keepsChipMemory(const DriverOptions &options) {
  return options.partition.memoryLimit.empty() &&
         options.partition.remat.empty();
}

static constexpr StringLiteral kAdvice = "shoal.memory_advice";

std::string shoal::memoryAdviceOf(ModuleOp module) {
  auto texts = module->getAttrOfType<ArrayAttr>(kAdvice);
  if (!texts)
    return "";
  std::string advice;
  for (StringAttr text : texts.getAsRange<StringAttr>())
    advice += (advice.empty() ? "" : "; ") + text.str();
  return advice;
}

std::string shoal::takeMemoryAdvice(ModuleOp module) {
  std::string advice = memoryAdviceOf(module);
  module->removeAttr(kAdvice);
  return advice;
}

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
static FailureOr<int64_t> countBytes(ModuleOp module,
                                     const DriverOptions &options) {
  OwningOpRef<ModuleOp> copy = module.clone();
  // What is to be said of the program is said when it is compiled.
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &said) {
    return success(said.getSeverity() != DiagnosticSeverity::Error);
  });
  StageSeconds seconds;
  if (options.target == Target::CUDA) {
    FailureOr<CUDAProgram> program =
        lowerForCUDA(*copy, seconds, {}, {}, /*toLLVM=*/false,
                     {{}, options.cuda.overlapMemory}, options.verifyEach);
    return failed(program) ? FailureOr<int64_t>()
                           : program->program.peakBytes();
  }
  FailureOr<LoweredProgram> program =
      lowerForCPU(*copy, seconds, {}, {}, options.verifyEach);
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
  /// chip: whose memory the limit is, where nobody has asked for one.
  /// maySendAgain: nobody has said what is sent again, so that what does not
  /// fit without may be.
  LimitSearch(ModuleOp module, RematerializeSettings settings,
              const DriverOptions &options,
              std::optional<ChipMemory> chip = std::nullopt,
              bool maySendAgain = false)
      : module(module), settings(std::move(settings)), options(options),
        chip(std::move(chip)), maySendAgain(maySendAgain),
        limit(*this->settings.limit) {}

  LogicalResult run();

private:
  Attempt transform(const RematerializePolicy &policy,
                    std::optional<int64_t> budget);
  LogicalResult compile(Attempt &attempt);
  bool mayFit(const Attempt &attempt, const Attempt &first) const;
  std::optional<Attempt> findPolicy(const Attempt &first);
  LogicalResult tighten(Attempt least, std::optional<Attempt> best);
  LogicalResult adopt(Attempt attempt) {
    module->setAttrs(attempt.module.get()->getAttrs());
    module.getBodyRegion().takeBody(attempt.module->getBodyRegion());
    return success();
  }
  LogicalResult search(Attempt first);
  LogicalResult keep(Attempt attempt);
  LogicalResult miss(Attempt least);

  ModuleOp module;
  RematerializeSettings settings;
  const DriverOptions &options;
  std::optional<ChipMemory> chip;
  bool maySendAgain;
  int64_t limit;
  /// What the program holds with nothing computed again for the limit.
  int64_t wanted = 0;
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
  FailureOr<int64_t> bytes = countBytes(*attempt.module, options);
  if (failed(bytes))
    return failure();
  attempt.bytes = *bytes;
  LDBG() << "estimated " << attempt.outcome.estimatedBytes
         << " bytes, compiled " << attempt.bytes << " of " << limit;
  return success();
}

/// Whether it is worth a lowering to know. first: what was lowered. Estimates
/// are more than what is compiled by what fusion leaves out, as a share much
/// the same where some is computed again as where all is saved.
bool LimitSearch::mayFit(const Attempt &attempt, const Attempt &first) const {
  double share = double(first.bytes) / double(first.outcome.estimatedBytes);
  return double(attempt.outcome.estimatedBytes) * std::min(share, 1.0) <=
         double(limit) * (1 + kDoubt);
}

/// The policy that keeps the limit and computes least again, where the user
/// named none.
std::optional<Attempt> LimitSearch::findPolicy(const Attempt &first) {
  if (settings.policy.kind != RematerializePolicy::Kind::Everything)
    return std::nullopt;
  SmallVector<Attempt, 4> attempts;
  for (StringRef name : kPolicies) {
    RematerializePolicy policy = *RematerializePolicy::parse(name);
    policy.collectives = settings.policy.collectives;
    Attempt made = transform(policy, {});
    if (!mayFit(made, first))
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

/// Adopts a program that keeps the limit by computing again.
LogicalResult LimitSearch::keep(Attempt attempt) {
  if (!chip)
    return adopt(std::move(attempt));
  std::string advice = memoryAdviceOf(module);
  emitWarning(listEntries(module).front().getLoc())
      << llvm::formatv("a device would hold {0:N} bytes, and {1} has {2:N} "
                       "for a program: it holds {3:N}, and {4:F1}% of the "
                       "forward pass is {5} again for that; "
                       "memory-limit (memory_limit) says what another GPU has",
                       wanted, chip->name, limit, attempt.bytes,
                       100 * attempt.outcome.repeatedCost /
                           std::max(attempt.outcome.forwardCost, 1.0),
                       settings.policy.collectives == Collectives::Save
                           ? "computed"
                           : "computed and sent")
             .str()
      << (advice.empty() ? "" : "; ") << advice;
  LogicalResult adopted = adopt(std::move(attempt));
  takeMemoryAdvice(module);
  return adopted;
}

LogicalResult LimitSearch::miss(Attempt least) {
  if (maySendAgain) {
    maySendAgain = false;
    settings.policy.collectives = Collectives::Repeat;
    Attempt first = transform(settings.policy, std::nullopt);
    first.bytes = wanted;
    return search(std::move(first));
  }
  if (chip) // The compiled program's memory is warned of.
    return adopt(std::move(least));
  InFlightDiagnostic error =
      listEntries(module).front().emitError()
      << llvm::formatv("the memory limit is {0:N} bytes a device, but the "
                       "least that was found is {1:N}",
                       limit, least.bytes)
             .str();
  attachLargest(error, least.outcome);
  if (std::string advice = memoryAdviceOf(module); !advice.empty())
    error.attachNote() << advice;
  return error;
}

LogicalResult LimitSearch::run() {
  Attempt first = transform(settings.policy, std::nullopt);
  // Compiled programs hold less, as a rule: a limit that nobody has asked for
  // is not worth a lowering to know.
  if (chip && first.outcome.estimatedBytes <= limit)
    return adopt(std::move(first));
  if (failed(compile(first)))
    return failure();
  wanted = first.bytes;
  if (first.bytes <= limit)
    return adopt(std::move(first));
  return search(std::move(first));
}

/// Computes again, as far as the policy lets. first: where nothing is. Where no
/// policy fits, nor what computes all again, nothing in between is looked for:
/// each look is a lowering of the program.
LogicalResult LimitSearch::search(Attempt first) {
  if (std::optional<Attempt> best = findPolicy(first))
    return tighten(std::move(first), std::move(best));
  Attempt most = transform(settings.policy, 0);
  if (!mayFit(most, first)) {
    if (failed(compile(most)))
      return failure();
    if (most.bytes > limit)
      return miss(std::move(most.bytes < first.bytes ? most : first));
  }
  return tighten(std::move(first), std::nullopt);
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
      return keep(std::move(made));
    bool isExhausted = !made.outcome.fits;
    budget =
        std::min(budget, made.outcome.estimatedBytes) - (made.bytes - limit);
    if (made.bytes < least.bytes)
      least = std::move(made);
    if (isExhausted)
      break;
  }
  return best ? keep(std::move(*best)) : miss(std::move(least));
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
  std::optional<ChipMemory> chip;
  if (keepsChipMemory(options))
    chip = chipMemoryOf(options);
  if (chip)
    settings->limit = chip->bytes;
  if (settings->limit && !listEntries(module).empty()) {
    registerLowering(*module.getContext());
    bool maySendAgain = chip && options.partition.rematCollectives.empty();
    return LimitSearch(module, *settings, options, std::move(chip),
                       maySendAgain)
        .run();
  }
  for (func::FuncOp function : listEntries(module))
    rematerialize(function, *settings);
  return success();
}
