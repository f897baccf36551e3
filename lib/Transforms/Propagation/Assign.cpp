// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ApplyAssignment.h"
#include "CheckRepeatedWork.h"
#include "CheckReplication.h"
#include "Copies.h"
#include "LintAnnotations.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/Certificate.h"
#include "shoal/Dialect/Shoal/IR/MeshAnalysis.h"
#include "shoal/Dialect/Shoal/IR/NamePath.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "shoal/Machine/ClusterFile.h"
#include "shoal/Sharding/ReshardPrices.h"
#include "shoal/Transforms/Debug/PassCounter.h"
#include "shoal/Transforms/Propagation/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/Format.h"

namespace shoal {
#define GEN_PASS_DEF_ASSIGN
#include "shoal/Transforms/Propagation/Passes.h.inc"
} // namespace shoal

#define DEBUG_TYPE "shoal-assign"

using namespace mlir;
using namespace shoal;

/// Ops of a problem that is searched anew where copies of some are in it, which
/// now and then finds more than its plan as it was leads to; of more that takes
/// as long as the first search.
static constexpr size_t kMostSearchedAnew = 2000;

static PassCounter numCopies(DEBUG_TYPE, "Copies of ops kept");

namespace {

/// Operations of the program's products, where one-hot einsums will be none:
/// statistics compare devices' products with them.
void recordProducts(func::FuncOp function, const OneHotCosts &costs) {
  if (costs.ops.empty())
    return;
  double flops = countArithmetic(function, [&](Operation *op) {
                   return !costs.ops.contains(op);
                 }).mostEinsumFlops;
  function->setAttr(kGlobalEinsumFlopsAttr,
                    Builder(function.getContext()).getF64FloatAttr(flops));
}

struct Assign : shoal::impl::AssignBase<Assign> {
  using AssignBase::AssignBase;
  Assign(AssignOptions options, CountSentBytes countSentBytes)
      : AssignBase(std::move(options)),
        countSentBytes(std::move(countSentBytes)) {}

  void runOnOperation() override {
    markAnalysesPreserved<MeshAnalysis>();
    const Mesh *mesh = getAnalysis<MeshAnalysis>().getMesh();
    if (!mesh || failed(readMachine(*mesh)))
      return signalPassFailure();
    reshardPrices = std::make_shared<ReshardPrices>();
    OwningOpRef<ModuleOp> imported;
    if (removals)
      imported = getOperation().clone();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isGlobalProgram(function) &&
          failed(assign(function, *mesh, imported ? *imported : ModuleOp())))
        return signalPassFailure();
  }

  struct Solution {
    ExtractedProblem extracted;
    Assignment assignment;
    double cost() const { return assignment.cost.total(); }
  };

  /// `imported`: the module as it was, null where nobody asks what does away
  /// with what is sent.
  LogicalResult assign(func::FuncOp function, const Mesh &mesh,
                       ModuleOp imported) {
    std::optional<ProgramNumbers> numbers;
    if (imported)
      numbers.emplace(function);
    Copies copies(function);
    FailureOr<Solution> solution = choose(function, copies, mesh);
    if (failed(solution))
      return failure();
    if (certify)
      certifyShardings(function, *solution);
    const auto &[extracted, assignment] = *solution;
    LDBG() << llvm::format("costs %.0f, of which %.0f bytes sent",
                           assignment.cost.total(), assignment.cost.bytes());
    if (failed(verify(*solution)))
      return failure();
    warnOfWholeOps(extracted, assignment);
    if (lint)
      lintAnnotations(extracted, assignment, getOptions());
    Removals found;
    if (imported)
      found = findRemovals(
          extracted, assignment, getOptions(), {extracted, *numbers, copies},
          [&](const AnnotationChange &change, auto isWanted) {
            return recompile(
                changeProgram(imported, extracted, *numbers, copies, change),
                mesh, isWanted);
          });
    applyAssignment(extracted, assignment, found);
    copies.merge(extracted);
    numCopies += copies.countKept();
    return success();
  }

  /// With the copies of ops that it takes.
  FailureOr<Solution> choose(func::FuncOp function, Copies &copies,
                             const Mesh &mesh) {
    OneHotCosts costs;
    if (!denseOneHots)
      costs = priceOneHots(function, oneHotGain, machineOf(machine));
    recordProducts(function, costs);
    FailureOr<Solution> solution = solve(function, mesh, costs);
    if (failed(solution) ||
        !copies.copySent(solution->extracted, solution->assignment))
      return solution;
    // Copies are of what no product is: costs stay those of the same ops.
    bool isLarge = solution->extracted.problem.ops.size() > kMostSearchedAnew;
    FailureOr<Solution> other =
        isLarge ? improve(*solution, copies, function, mesh, costs)
                : solve(function, mesh, costs);
    if (failed(other) || other->cost() < solution->cost())
      return other;
    copies.dropSent();
    return solution;
  }

  /// That it does nothing that options forbid.
  LogicalResult verify(const Solution &solution) {
    const auto &[extracted, assignment] = solution;
    if (failed(checkReplication(
            extracted, assignment,
            {maxReplicatedBytes, ArrayRef<std::string>(allowReplicated)})))
      return failure();
    return checkRepeatedWork(
        extracted, assignment,
        {warnRepeatedWork, maxRepeatedWork, latency() * balance()});
  }

  /// What is sent of a changed program, in the end where that is wanted;
  /// nothing where it does not compile.
  std::optional<Recompiled>
  recompile(ChangedProgram changed, const Mesh &mesh,
            llvm::function_ref<bool(const SentFacts &)> isWanted) {
    ScopedDiagnosticHandler quiet(&getContext(),
                                  [](Diagnostic &) { return success(); });
    Recompiled made;
    for (auto function : changed.module->getOps<func::FuncOp>()) {
      if (!isGlobalProgram(function))
        continue;
      Copies copies(function);
      FailureOr<Solution> solution = choose(function, copies, mesh);
      if (failed(solution) || failed(verify(*solution)))
        return std::nullopt;
      const auto &[extracted, assignment] = *solution;
      if (function == changed.function) {
        made.cost = assignment.cost;
        made.sent = listSent(extracted.problem, assignment,
                             {extracted, changed.numbers, copies});
      }
      applyAssignment(extracted, assignment);
      copies.merge(extracted);
    }
    if (!isWanted(made.sent))
      return made;
    if (!countSentBytes) {
      made.bytes = int64_t(made.sent.total);
      return made;
    }
    FailureOr<int64_t> bytes = countSentBytes(*changed.module);
    if (failed(bytes))
      return std::nullopt;
    made.bytes = bytes;
    return made;
  }

  FailureOr<Solution> solve(func::FuncOp function, const Mesh &mesh,
                            const OneHotCosts &costs) {
    FailureOr<ExtractedProblem> extracted =
        extractProblem(function, mesh, costs);
    if (failed(extracted))
      return failure();
    LDBG() << "@" << function.getSymName() << ": "
           << extracted->problem.ops.size() << " ops, "
           << extracted->values.size() << " values";
    Assignment assignment = assignShardings(extracted->problem, getOptions());
    return Solution{std::move(*extracted), std::move(assignment)};
  }

  /// Of the program with copies of ops, from where it was found without: copies
  /// begin as their originals.
  FailureOr<Solution> improve(const Solution &found, const Copies &copies,
                              func::FuncOp function, const Mesh &mesh,
                              const OneHotCosts &costs) {
    FailureOr<ExtractedProblem> extracted =
        extractProblem(function, mesh, costs);
    if (failed(extracted))
      return failure();
    // An op of the program may be several of the problem, always as many.
    using Key = std::pair<Operation *, unsigned>;
    auto listOf = [](const ExtractedProblem &problem) {
      llvm::MapVector<Key, SmallVector<unsigned>> ops;
      for (auto [id, op] : llvm::enumerate(problem.ops))
        ops[{op.op, 2 * op.index + op.isResult}].push_back(id);
      return ops;
    };
    auto before = listOf(found.extracted);
    std::vector<FactorSharding> start(extracted->ops.size());
    SmallVector<unsigned> changed;
    for (auto &[key, ids] : listOf(*extracted)) {
      Key original = key;
      if (Operation *op = copies.originalOf(key.first)) {
        original.first = op;
        llvm::append_range(changed, ids);
      }
      for (auto [id, old] : llvm::zip_equal(ids, before.find(original)->second))
        start[id] = found.assignment.ops[old];
    }
    Assignment assignment = improveShardings(
        extracted->problem, std::move(start), changed, getOptions());
    return Solution{std::move(*extracted), std::move(assignment)};
  }

  /// Searches again, with a lower bound.
  void certifyShardings(func::FuncOp function, Solution &solution) {
    AssignmentOptions options = getOptions();
    options.certify = true;
    solution.assignment = assignShardings(solution.extracted.problem, options);
    std::optional<double> bound = solution.assignment.lowerBound;
    if (!bound) {
      function.emitRemark(
          "shardings have no lower bound: an op may be split in "
          "more than 65,536 ways");
      return;
    }
    Certificate certificate{solution.cost(), *bound, cluster.has_value()};
    if (certificate.gap() == 0) // but for rounding
      certificate.lowerBound = certificate.cost;
    function->setAttr(kCertificateAttr, certificate.toAttr(&getContext()));
    function.emitRemark("shardings ") << certificate.text();
  }

  LogicalResult readMachine(const Mesh &mesh) {
    if (machineFile.empty())
      return success();
    support::Result<Cluster> read = readCluster(machineFile);
    if (!read)
      return getOperation().emitError() << "machine: " << read.error().message;
    cluster = std::move(*read);
    if (mesh.numDevices() > cluster->devices())
      return getOperation().emitError()
             << "machine: \"" << cluster->name << "\" has "
             << cluster->devices() << " devices, but mesh \"" << mesh.name
             << "\" " << mesh.numDevices();
    return success();
  }

  /// Operations that take as long as sending a byte.
  double balance() const {
    return flopsPerByte > 0 ? flopsPerByte
                            : machineOf(machine).flopsPerLinkByte;
  }

  /// Of a collective, in bytes. A balance that is given is all that counts.
  double latency() const {
    if (latencyBytes >= 0)
      return latencyBytes;
    return flopsPerByte > 0 ? 0 : shoal::latencyBytes(machineOf(machine));
  }

  AssignmentOptions getOptions() const {
    AssignmentOptions options;
    options.pricePlans = pricePlans;
    options.flopsPerByte = balance();
    options.repeatMargin = repeatMargin;
    options.memoryWeight = memoryWeight;
    options.latencyBytes = latency();
    options.effort = effort;
    options.foldRepeats = foldRepeats;
    options.reshardPrices = reshardPrices.get();
    if (cluster)
      priceOn(*cluster, options);
    return options;
  }

  /// That of the machine file.
  std::optional<Cluster> cluster;
  /// Of all searches of a run: of copies, certificates, removals and lints.
  std::shared_ptr<ReshardPrices> reshardPrices;
  /// Of a program with reshards; may be null.
  CountSentBytes countSentBytes;
};

} // namespace

std::unique_ptr<Pass> shoal::createAssign(AssignOptions options,
                                          CountSentBytes countSentBytes) {
  return std::make_unique<Assign>(std::move(options),
                                  std::move(countSentBytes));
}
