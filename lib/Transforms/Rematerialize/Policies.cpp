// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Policies.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace shoal;
using namespace shoal::remat;

/// Whether a factor is in all operands and results, and more than one long.
static bool hasBatch(const FactorRule &rule) {
  auto hasFactor = [](const DimFactors &dims, unsigned factor) {
    return llvm::any_of(
        dims, [&](const auto &dim) { return llvm::is_contained(dim, factor); });
  };
  for (unsigned factor = 0; factor < rule.factors.size(); ++factor) {
    auto has = [&](const DimFactors &dims) { return hasFactor(dims, factor); };
    if (rule.factors[factor].size > 1 && llvm::all_of(rule.operands, has) &&
        llvm::all_of(rule.results, has))
      return true;
  }
  return false;
}

namespace {

/// What lies between two products of values neither of which is a weight, the
/// first of them with it: of attention scores, mask and softmax, whose bytes
/// grow with the square of a sequence while their operations are few.
class BetweenProducts {
public:
  explicit BetweenProducts(const ExtractedStep &step) : step(step) {
    findProducts();
    size_t count = step.ops.size();
    std::vector<bool> follows(count), leads(count);
    for (size_t op = 0; op < count; ++op)
      follows[op] =
          mixes[op] ||
          (!isProductOp[op] && llvm::any_of(makersOf(op), [&](unsigned maker) {
            return follows[maker];
          }));
    for (size_t op = count; op-- > 0;)
      if (mixes[op] || (!isProductOp[op] && leads[op]))
        for (unsigned maker : makersOf(op))
          leads[maker] = true;
    between.resize(count);
    for (size_t op = 0; op < count; ++op)
      between[op] = follows[op] && leads[op];
  }

  bool contains(unsigned op) const { return between[op]; }

private:
  SmallVector<unsigned> makersOf(unsigned op) const {
    SmallVector<unsigned> makers;
    for (unsigned operand : step.graph.ops[op].operands)
      if (auto maker = step.graph.values[operand].maker)
        makers.push_back(*maker);
    return makers;
  }

  /// A weight is what the program is given, in whatever form: nothing was
  /// computed for it.
  void findProducts() {
    std::vector<bool> computes;
    for (auto [number, operation] : llvm::enumerate(step.ops)) {
      const GraphOp &op = step.graph.ops[number];
      auto interface = dyn_cast<FactorRuleOpInterface>(operation);
      std::optional<FactorRule> rule;
      if (interface && !op.isBackward)
        rule = interface.getFactorRule();
      isProductOp.push_back(rule && isProduct(*rule));
      auto isComputed = [&](unsigned operand) {
        auto maker = step.graph.values[operand].maker;
        return maker && computes[*maker];
      };
      mixes.push_back(isProductOp.back() &&
                      llvm::all_of(op.operands, isComputed));
      computes.push_back((rule && rule->flops > 0) ||
                         llvm::any_of(op.operands, isComputed));
    }
  }

  const ExtractedStep &step;
  std::vector<bool> isProductOp, mixes, between;
};

} // namespace

/// Whether the policy saves the op's results, but for names and what is between
/// products.
static bool isSaved(Operation *op, const RematerializePolicy &policy) {
  using Kind = RematerializePolicy::Kind;
  if (policy.kind == Kind::Everything || policy.kind == Kind::Selective)
    return true;
  if (policy.kind != Kind::Dots && policy.kind != Kind::DotsNoBatch)
    return false;
  auto interface = dyn_cast<FactorRuleOpInterface>(op);
  if (!interface)
    return false;
  FactorRule rule = interface.getFactorRule();
  return isProduct(rule) && (policy.kind == Kind::Dots || !hasBatch(rule));
}

namespace {

/// A function behind a shoal.checkpoint whose ops are being read.
struct OpenCheckpoint {
  int64_t region;
  unsigned number;
  RematerializePolicy policy;
};

class PolicyReader {
public:
  PolicyReader(ExtractedStep &step, const RematerializePolicy &policy)
      : step(step), between(step), open({{-1, 0, policy}}) {}

  void run();

private:
  void pass(CheckpointBoundaryOp boundary);
  void saveNamed(CheckpointNameOp name, unsigned number);

  bool isRepeated(unsigned number) const {
    const RematerializePolicy &policy = open.back().policy;
    if (policy.kind == RematerializePolicy::Kind::Selective &&
        between.contains(number))
      return true;
    return !isSaved(step.ops[number], policy);
  }

  ExtractedStep &step;
  BetweenProducts between;
  SmallVector<OpenCheckpoint> open;
  unsigned numCheckpoints = 0;
};

} // namespace

void PolicyReader::pass(CheckpointBoundaryOp boundary) {
  int64_t region = boundary.getRegion();
  if (boundary.getPolicy()) {
    open.push_back({region, ++numCheckpoints,
                    *RematerializePolicy::parse(*boundary.getPolicy())});
    return;
  }
  auto found = llvm::find_if(llvm::reverse(open), [&](const auto &other) {
    return other.region == region;
  });
  if (found != open.rend())
    open.erase(std::prev(found.base()), open.end());
}

/// What the name is given to is saved, be it through views.
void PolicyReader::saveNamed(CheckpointNameOp name, unsigned number) {
  const RematerializePolicy &policy = open.back().policy;
  if (!llvm::is_contained(policy.names, name.getLabel()))
    return;
  for (unsigned root : rootsOf(step.graph, step.graph.ops[number].operands[0]))
    if (std::optional<unsigned> maker = step.graph.values[root].maker)
      step.graph.ops[*maker].mayRepeat = false;
}

void PolicyReader::run() {
  for (auto [number, operation] : llvm::enumerate(step.ops)) {
    GraphOp &op = step.graph.ops[number];
    if (op.isBackward)
      continue;
    if (auto boundary = dyn_cast<CheckpointBoundaryOp>(operation))
      pass(boundary);
    if (auto name = dyn_cast<CheckpointNameOp>(operation))
      saveNamed(name, number);
    op.checkpoint = open.back().number;
    op.mustRepeat = !op.isView && isRepeated(number);
  }
}

void shoal::remat::applyPolicies(ExtractedStep &step,
                                 const RematerializePolicy &policy) {
  PolicyReader(step, policy).run();
}
