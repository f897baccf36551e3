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

/// Whether the policy saves the op's results, but for names.
static bool isSaved(Operation *op, const RematerializePolicy &policy) {
  using Kind = RematerializePolicy::Kind;
  if (policy.kind == Kind::Everything)
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
      : step(step), open({{-1, 0, policy}}) {}

  void run();

private:
  void pass(CheckpointBoundaryOp boundary);
  void saveNamed(CheckpointNameOp name, unsigned number);

  ExtractedStep &step;
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
    op.mustRepeat = !op.isView && !isSaved(operation, open.back().policy);
  }
}

void shoal::remat::applyPolicies(ExtractedStep &step,
                                 const RematerializePolicy &policy) {
  PolicyReader(step, policy).run();
}
