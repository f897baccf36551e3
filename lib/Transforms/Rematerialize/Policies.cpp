// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Policies.h"
#include "SentParameters.h"
#include "shoal/CostModel/ProgramCost.h"
#include "shoal/Dialect/Shoal/IR/ControlFlowOps.h"
#include "shoal/Dialect/Spmd/IR/Spmd.h"
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
  if (policy.kind == Kind::Everything || policy.kind == Kind::Selective ||
      policy.kind == Kind::Offload)
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

/// A function behind a shoal.remat whose ops are being read.
struct OpenRemat {
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
  void pass(RematBoundaryOp boundary);
  void saveNamed(CheckpointNameOp name, unsigned number);
  bool isSentParameter(unsigned number);
  void allowSending(unsigned number);
  void sendAgain(unsigned number);
  void sendOperandsAgain(unsigned boundary);

  bool isRepeated(unsigned number) const {
    const RematerializePolicy &policy = open.back().policy;
    if (policy.kind == RematerializePolicy::Kind::Selective &&
        between.contains(number))
      return true;
    return !isSaved(step.ops[number], policy);
  }

  ExtractedStep &step;
  BetweenProducts between;
  SentParameters sentParameters;
  SmallVector<OpenRemat> open;
  unsigned numRemats = 0;
};

} // namespace

void PolicyReader::pass(RematBoundaryOp boundary) {
  int64_t region = boundary.getRegion();
  if (boundary.getPolicy()) {
    auto policy = *RematerializePolicy::parse(*boundary.getPolicy());
    policy.collectives =
        boundary.getCollectives()
            ? *RematerializePolicy::parseCollectives(*boundary.getCollectives())
            : open.front().policy.collectives;
    open.push_back({region, ++numRemats, std::move(policy)});
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

/// Whether one of the op's results is a parameter that was sent.
bool PolicyReader::isSentParameter(unsigned number) {
  return llvm::any_of(step.ops[number]->getResults(), [&](mlir::Value result) {
    return sentParameters.contains(result);
  });
}

/// Lets it run again where it sends, which then costs what sending does.
void PolicyReader::allowSending(unsigned number) {
  GraphOp &op = step.graph.ops[number];
  if (op.sendCost == 0 || op.mayRepeat)
    return;
  op.mayRepeat = true;
  op.cost += op.sendCost;
}

/// Has what was sent of parameters, and copies and conversions of it, made
/// again.
void PolicyReader::sendAgain(unsigned number) {
  GraphOp &op = step.graph.ops[number];
  op.mustRepeat = op.isSentAgain = !op.isView;
  allowSending(number);
}

/// Parameters mostly come to where they enter such a function: those are its
/// own.
void PolicyReader::sendOperandsAgain(unsigned boundary) {
  SmallVector<unsigned> open = {boundary};
  while (!open.empty())
    for (unsigned value : step.graph.ops[open.pop_back_val()].operands)
      if (std::optional<unsigned> maker = step.graph.values[value].maker;
          maker && isSentParameter(*maker) &&
          !step.graph.ops[*maker].isSentAgain) {
        sendAgain(*maker);
        open.push_back(*maker);
      }
}

void PolicyReader::run() {
  using Collectives = RematerializePolicy::Collectives;
  for (auto [number, operation] : llvm::enumerate(step.ops)) {
    GraphOp &op = step.graph.ops[number];
    if (op.isBackward)
      continue;
    if (auto boundary = dyn_cast<RematBoundaryOp>(operation)) {
      pass(boundary);
      if (open.back().policy.collectives == Collectives::Params)
        sendOperandsAgain(number);
    }
    if (auto name = dyn_cast<CheckpointNameOp>(operation))
      saveNamed(name, number);
    op.remat = open.back().number;
    op.mustRepeat = !op.isView && isRepeated(number);
    Collectives collectives = open.back().policy.collectives;
    if (collectives == Collectives::Repeat)
      allowSending(number);
    else if (collectives == Collectives::Params && isSentParameter(number))
      sendAgain(number);
  }
}

void shoal::remat::applyPolicies(ExtractedStep &step,
                                 const RematerializePolicy &policy) {
  PolicyReader(step, policy).run();
}
