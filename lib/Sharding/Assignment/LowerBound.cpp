// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LowerBound.h"
#include "Relaxation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "shoal-assign"

using namespace shoal;
using namespace shoal::assignment;

// Of what a plan costs: rounding, what is worth more sweeps, and more splits.
static constexpr double kRounding = 1e-9, kLeastGain = 1e-6, kLeastGap = 1e-4;

namespace {

/// What a bound is looked for with.
class BoundSearch {
public:
  BoundSearch(CostTables &tables, double known, const BoundEffort &effort,
              TryPlan tryPlan)
      : tables(tables), cheapest(known), known(known), effort(effort),
        tryPlan(tryPlan) {}
  std::optional<double> run();

private:
  /// Some of what may be chosen, and a bound of its plans.
  struct Node {
    std::unique_ptr<Relaxation> relaxation;
    double bound = 0;

    const AllChoices &choices() const { return relaxation->getChoices(); }
  };

  /// Plans that cost as much are not looked for.
  double tooDear() const { return known * (1 - effort.leastGain); }
  bool isSettled(double bound) const {
    return bound >= tooDear() * (1 - kRounding);
  }
  void tryPlanOf(const Node &node);
  Node makeRoot(AllChoices choices);
  void tighten(Node &node, unsigned maxSweeps);
  void guess(Node &root);
  std::optional<unsigned> findUnsettled(const Node &node) const;
  std::pair<Node, Node> split(const Node &node, unsigned op);
  double branch(Node root);

  CostTables &tables;
  KnownVersionCosts versionCosts;
  /// What a plan costs; and what counts as that, which may be a guess.
  double cheapest, known;
  const BoundEffort &effort;
  TryPlan tryPlan;
};

} // namespace

static size_t numberOf(const AllChoices &choices) {
  size_t number = 0;
  for (const auto &own : choices)
    number += own->options.size();
  return number;
}

void BoundSearch::tryPlanOf(const Node &node) {
  cheapest = std::min(cheapest, tryPlan(node.relaxation->decode()));
  known = std::min(known, cheapest);
}

/// Sweeps until the bound is what is known, or gains nothing; leaves out what
/// no plan as cheap as the known one chooses.
void BoundSearch::tighten(Node &node, unsigned maxSweeps) {
  constexpr unsigned kRound = 8;
  constexpr double kFewer = 0.9;
  double asked = node.bound;
  for (unsigned sweep = 1; sweep <= maxSweeps; ++sweep) {
    node.relaxation->sweep();
    // The first sweeps are of the most choices.
    bool isLooked =
        sweep < kRound ? llvm::isPowerOf2_32(sweep) : sweep % kRound == 0;
    if (!isLooked && sweep < maxSweeps)
      continue;
    Relaxation::Marginals marginals = node.relaxation->findMarginals();
    node.bound = std::max(node.bound, marginals.bound);
    if (isSettled(node.bound))
      return;
    // Plans are tried the less often the less the bound moves.
    if (sweep >= kRound &&
        (sweep <= effort.alwaysTried || llvm::isPowerOf2_32(sweep)))
      tryPlanOf(node);
    AllChoices left =
        node.relaxation->choicesWithin(known * (1 + kRounding), marginals);
    LDBG() << "  " << sweep << " sweeps: no plan costs less than "
           << llvm::format("%.0f", node.bound) << ", of "
           << numberOf(node.choices()) << " choices " << numberOf(left)
           << " may be as cheap as the best";
    size_t before = numberOf(node.choices()), now = numberOf(left);
    bool isRaised = node.bound >= asked + kLeastGain * known;
    if (now == before && !isRaised)
      return;
    // What costs of values are worked out for takes as long as some sweeps.
    if (now < before * kFewer || !isRaised)
      node.relaxation =
          std::make_unique<Relaxation>(*node.relaxation, std::move(left));
    asked = node.bound;
  }
}

/// As if a plan were known that costs little more than the bound: of the few
/// choices that it may have the prices make a plan sooner. Where these say that
/// there is none, the guess is a bound.
void BoundSearch::guess(Node &root) {
  constexpr unsigned kSweeps = 24;
  for (double share : {0.125, 0.25, 0.5}) {
    // Also where no plan is known.
    if (cheapest - root.bound <= effort.leastGuessed * cheapest)
      return;
    known = root.bound + share * (cheapest - root.bound);
    const double guessed = known;
    Relaxation &relaxation = *root.relaxation;
    Node node{
        std::make_unique<Relaxation>(
            relaxation, relaxation.choicesWithin(known * (1 + kRounding),
                                                 relaxation.findMarginals())),
        root.bound};
    tighten(node, kSweeps);
    LDBG() << "  a guess of " << llvm::format("%.0f", guessed)
           << ": none below " << llvm::format("%.0f", node.bound);
    if (isSettled(node.bound))
      root.bound = std::max(root.bound, tooDear());
    known = cheapest;
  }
}

/// The op that may still choose the most.
std::optional<unsigned> BoundSearch::findUnsettled(const Node &node) const {
  std::optional<unsigned> found;
  size_t most = 1;
  for (auto [op, own] : llvm::enumerate(node.choices()))
    if (own->options.size() > most) {
      most = own->options.size();
      found = op;
    }
  return found;
}

/// The plans with what the op would choose, and those without.
std::pair<BoundSearch::Node, BoundSearch::Node>
BoundSearch::split(const Node &node, unsigned op) {
  const auto &choices = node.choices()[op];
  ChoiceIndex chosen = node.relaxation->decode()[op];
  auto take = [&](bool isTaken) {
    AllChoices left = node.choices();
    left[op] = keepChoices(choices, [&](size_t option) {
      return (choices->options[option].choice == chosen) == isTaken;
    });
    return Node{std::make_unique<Relaxation>(*node.relaxation, std::move(left)),
                node.bound};
  };
  return {take(true), take(false)};
}

/// Branch and bound, the least bound first: all plans are in one of the parts,
/// and none costs less than the least of their bounds.
double BoundSearch::branch(Node root) {
  constexpr unsigned kSweeps = 24;
  std::vector<Node> open;
  open.push_back(std::move(root));
  size_t numChoices = 0;
  for (unsigned number = 0; number < effort.maxSplits; ++number) {
    auto least = llvm::min_element(
        open, [](const Node &a, const Node &b) { return a.bound < b.bound; });
    if (open.empty() || least->bound >= known * (1 - kLeastGap))
      break;
    numChoices += numberOf(least->choices());
    if (numChoices > effort.maxSplitChoices)
      break;
    Node node = std::move(*least);
    open.erase(least);
    std::optional<unsigned> op = findUnsettled(node);
    if (!op) { // one plan is left
      tryPlanOf(node);
      if (!isSettled(node.bound))
        return node.bound;
      continue;
    }
    auto parts = split(node, *op);
    for (Node *part : {&parts.first, &parts.second}) {
      tighten(*part, kSweeps);
      if (!isSettled(part->bound))
        open.push_back(std::move(*part));
    }
  }
  double bound = tooDear();
  for (const Node &node : open)
    bound = std::min(bound, node.bound);
  return bound;
}

/// Most choices are left out before their reshards are planned.
BoundSearch::Node BoundSearch::makeRoot(AllChoices choices) {
  constexpr unsigned kSweepsOfAll = 2;
  bool arePlanned = tables.plansReshards();
  Node root{std::make_unique<Relaxation>(
      tables, std::move(choices),
      arePlanned ? ReshardPrice::Least : ReshardPrice::Exact, versionCosts,
      std::min(2 * known, kForbidden))};
  if (!arePlanned)
    return root;
  tighten(root, kSweepsOfAll);
  if (!isSettled(root.bound))
    root.relaxation = std::make_unique<Relaxation>(
        *root.relaxation, root.choices(), ReshardPrice::Exact);
  return root;
}

std::optional<double> BoundSearch::run() {
  std::optional<AllChoices> choices =
      allChoicesWithin(tables, known * (1 + kRounding));
  if (!choices)
    return std::nullopt;
  Node root = makeRoot(std::move(*choices));
  if (!isSettled(root.bound))
    tighten(root, effort.maxSweeps);
  guess(root);
  if (isSettled(root.bound))
    return root.bound;
  tryPlanOf(root);
  double bound = root.bound;
  return std::max(bound, branch(std::move(root)));
}

std::optional<double> assignment::findLowerBound(CostTables &tables,
                                                 double known,
                                                 const BoundEffort &effort,
                                                 TryPlan tryPlan) {
  return BoundSearch(tables, known, effort, tryPlan).run();
}
