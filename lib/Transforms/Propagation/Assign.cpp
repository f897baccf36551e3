// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CheckRepeatedWork.h"
#include "CheckReplication.h"
#include "Copies.h"
#include "FindRemovals.h"
#include "LintAnnotations.h"
#include "Writer.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Shoal/IR/AnnotationsOps.h"
#include "shoal/Dialect/Shoal/IR/Certificate.h"
#include "shoal/Dialect/Shoal/IR/MeshAnalysis.h"
#include "shoal/Dialect/Shoal/IR/NamePath.h"
#include "shoal/Dialect/Shoal/IR/VerifyUtils.h"
#include "shoal/Machine/ClusterFile.h"
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

static PassCounter numReshards(DEBUG_TYPE, "Reshards inserted");
static PassCounter numReshardedUses(DEBUG_TYPE,
                                    "Operands that read a resharded value");
static PassCounter numCopies(DEBUG_TYPE, "Copies of ops kept");

namespace {

/// Writes an assignment into the function.
class Applier {
  /// An operand of the problem, and where in the block of its value the op
  /// stands that it belongs to or that is around it.
  struct Use {
    unsigned place = ~0u, op = ~0u, operand = ~0u;
    Operation *before = nullptr;
    auto operator<=>(const Use &) const = default;
  };

public:
  Applier(const ExtractedProblem &extracted, const Assignment &assignment,
          const Removals &removals)
      : extracted(extracted), assignment(assignment), removals(removals),
        builder(extracted.meshes[0].getContext()) {}

  void run();

private:
  void numberOps();
  void insertReshards(unsigned value);
  void writeShardings();
  /// Null where nothing is said.
  StringAttr removalOf(unsigned value, unsigned version) {
    auto found = removals.find({value, version});
    return found == removals.end() ? nullptr
                                   : builder.getStringAttr(found->second);
  }
  SmallVector<Use> findFirstUses(unsigned value) const;
  ShardingAttr attrOf(const ValueVersion &version, unsigned value) const {
    return extracted.toAttr(version.sharding, version.deviceOrder, value);
  }

  const ExtractedProblem &extracted;
  const Assignment &assignment;
  const Removals &removals;
  OpBuilder builder;
  /// For each value the operands (op, number) that read it.
  std::vector<SmallVector<std::pair<unsigned, unsigned>, 2>> uses;
  /// The ops of the function in program order.
  llvm::DenseMap<Operation *, unsigned> places;
};

} // namespace

void Applier::run() {
  uses.resize(extracted.values.size());
  for (auto [op, graphOp] : llvm::enumerate(extracted.problem.ops))
    for (auto [operand, value] : llvm::enumerate(graphOp.operands))
      uses[value].push_back({unsigned(op), unsigned(operand)});
  numberOps();
  writeShardings();
  for (unsigned value = 0; value < extracted.values.size(); ++value)
    insertReshards(value);
}

void Applier::numberOps() {
  func::FuncOp function = extracted.function;
  function.walk<WalkOrder::PreOrder>(
      [&](Operation *op) { places.try_emplace(op, places.size()); });
}

void Applier::writeShardings() {
  func::FuncOp function = extracted.function;
  ShardingWriter writer(extracted, assignment.hints);
  for (auto [op, graphOp] : llvm::enumerate(extracted.problem.ops)) {
    for (unsigned value : graphOp.results) {
      const ValueVersion &made = assignment.values[value].front();
      writer.add(value, made.sharding, made.deviceOrder);
    }
    const ProblemOp &origin = extracted.ops[op];
    if (origin.operands.empty() ||
        !isa<func::ReturnOp>(origin.operands[0]->getOwner()))
      continue;
    const auto &versions = assignment.values[graphOp.operands[0]];
    function.setResultAttr(
        origin.operands[0]->getOperandNumber(), kShardingAttr,
        attrOf(versions[assignment.uses[op][0]], graphOp.operands[0]));
  }
  writer.writeResults();
  const ShardingWriter::Record &arguments = writer.getArguments();
  for (auto [i, sharding] : llvm::enumerate(arguments.shardings))
    function.setArgAttr(i, kShardingAttr, sharding);
  function->removeAttr(kArgumentHintsAttr);
  function->setAttr(kArgumentOriginsAttr,
                    builder.getArrayAttr(arguments.origins));
}

/// The first use of each version, be it through a version made from it.
SmallVector<Applier::Use> Applier::findFirstUses(unsigned value) const {
  ArrayRef<ValueVersion> versions = assignment.values[value];
  Value contents = extracted.values[value];
  Block *block = contents.getParentBlock();
  SmallVector<Use> first(versions.size());
  for (auto [op, operand] : uses[value]) {
    Operation *user = extracted.ops[op].operands[operand]->getOwner();
    Operation *before = block->findAncestorOpInBlock(*user);
    unsigned version = assignment.uses[op][operand];
    first[version] =
        std::min(first[version], {places.at(before), op, operand, before});
  }
  for (unsigned version = versions.size(); version-- > 1;)
    first[*versions[version].parent] =
        std::min(first[*versions[version].parent], first[version]);
  return first;
}

/// Where a reshard is, for its layer's name: at the op that needs it or, where
/// that is in no layer, as a return, at the one that makes the value.
static Location placeOf(Operation *user, Value value) {
  Operation *maker = value.getDefiningOp();
  bool isMakers = maker && namePath(user->getLoc()).empty() &&
                  !namePath(maker->getLoc()).empty();
  return isMakers ? maker->getLoc() : user->getLoc();
}

/// Reshards stand in the block of the value, in front of the op that needs them
/// or that has it in a region: a loop does not repeat them.
void Applier::insertReshards(unsigned value) {
  ArrayRef<ValueVersion> versions = assignment.values[value];
  SmallVector<Use> firstUses = findFirstUses(value);
  SmallVector<Value> made = {extracted.values[value]};
  for (unsigned version = 1; version < versions.size(); ++version) {
    const Use &use = firstUses[version];
    unsigned parent = *versions[version].parent;
    OpOperand *user = extracted.ops[use.op].operands[use.operand];
    builder.setInsertionPoint(use.before);
    ShardingAttr target = attrOf(versions[version], value);
    LDBG() << "reshards "
           << toString(versions[parent].sharding, extracted.problem.mesh)
           << " -> "
           << toString(versions[version].sharding, extracted.problem.mesh)
           << llvm::format(", %.0f bytes, for ", versions[version].bytes)
           << extracted.describeUse(use.op, use.operand);
    ++numReshards;
    auto reshard = ReshardOp::create(
        builder, placeOf(user->getOwner(), extracted.values[value]),
        made[0].getType(), made[parent], attrOf(versions[parent], value),
        target, /*step=*/nullptr,
        builder.getStringAttr(extracted.describeUse(use.op, use.operand)),
        removalOf(value, version));
    reshard->setAttr(kShardingsAttr, builder.getArrayAttr({target}));
    made.push_back(reshard);
  }
  for (auto [op, operand] : uses[value]) {
    unsigned version = assignment.uses[op][operand];
    numReshardedUses += version > 0;
    extracted.ops[op].operands[operand]->set(made[version]);
  }
}

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

  void runOnOperation() override {
    markAnalysesPreserved<MeshAnalysis>();
    const Mesh *mesh = getAnalysis<MeshAnalysis>().getMesh();
    if (!mesh || failed(readMachine(*mesh)))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (isGlobalProgram(function) && failed(assign(function, *mesh)))
        return signalPassFailure();
  }

  LogicalResult assign(func::FuncOp function, const Mesh &mesh) {
    Copies copies(function);
    OneHotCosts costs;
    if (!denseOneHots)
      costs = priceOneHots(function, oneHotGain, machineOf(machine));
    recordProducts(function, costs);
    FailureOr<Solution> solution = solve(function, mesh, costs);
    if (failed(solution))
      return failure();
    if (copies.copySent(solution->extracted, solution->assignment)) {
      // Copies are of what no product is: costs stay those of the same ops.
      bool isLarge = solution->extracted.problem.ops.size() > kMostSearchedAnew;
      FailureOr<Solution> other =
          isLarge ? improve(*solution, copies, function, mesh, costs)
                  : solve(function, mesh, costs);
      if (failed(other))
        return failure();
      if (other->cost() < solution->cost())
        solution = std::move(other);
      else
        copies.dropSent();
    }
    if (certify)
      certifyShardings(function, *solution);
    const auto &[extracted, assignment] = *solution;
    LDBG() << llvm::format("costs %.0f, of which %.0f bytes sent",
                           assignment.cost.total(), assignment.cost.bytes());
    if (failed(checkReplication(
            extracted, assignment,
            {maxReplicatedBytes, ArrayRef<std::string>(allowReplicated)})))
      return failure();
    if (failed(checkRepeatedWork(
            extracted, assignment,
            {warnRepeatedWork, maxRepeatedWork, latency() * balance()})))
      return failure();
    warnOfWholeOps(extracted, assignment);
    if (lint)
      lintAnnotations(extracted, assignment, getOptions());
    Removals found;
    if (removals)
      found = findRemovals(extracted, assignment, getOptions());
    Applier(extracted, assignment, found).run();
    copies.merge(extracted);
    numCopies += copies.countKept();
    return success();
  }

  struct Solution {
    ExtractedProblem extracted;
    Assignment assignment;
    double cost() const { return assignment.cost.total(); }
  };

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
    if (cluster)
      priceOn(*cluster, options);
    return options;
  }

  /// That of the machine file.
  std::optional<Cluster> cluster;
};

} // namespace
