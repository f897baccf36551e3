// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProblemSearch.h"
#include "AskingProblem.h"
#include "Search.h"
#include "shoal/Sharding/CanonicalOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/Format.h"
#include <set>

#define DEBUG_TYPE "shoal-assign"

using namespace shoal;
using namespace shoal::assignment;

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

/// The plan's cost, as debug output shows it.
[[maybe_unused]] static llvm::format_object<double> costOf(const Plan &plan) {
  return llvm::format("%.0f", plan.totalCost());
}

/// Takes the other plan where it is cheaper.
static void keepCheaper(Plan &plan, Plan other, llvm::StringRef name,
                        double least = kMinGain) {
  bool isCheaper = other.totalCost() < plan.totalCost() - least;
  LDBG() << name << " costs " << costOf(other) << ", the one before "
         << costOf(plan) << ": " << (isCheaper ? "taken" : "left");
  if (isCheaper)
    plan = std::move(other);
}

static constexpr llvm::StringLiteral kBoundStart = "what the bound suggests";

/// Of a problem whose bound is looked for in place of further starts: choices
/// of all ops, and sweeps.
static constexpr ChoiceIndex kChoicesOfSmall = 16000;
static constexpr unsigned kSweepsOfSmall = 32;
/// The share of a plan's cost below which another one is not better: prices are
/// less exact, and what has none, as memory, is what moves with them.
static constexpr double kNoGain = 0.001;

ProblemSearch::ProblemSearch(const AssignmentProblem &given,
                             const AssignmentOptions &options,
                             llvm::ArrayRef<llvm::StringRef> without,
                             std::vector<FactorSharding> known)
    : given(given), options(options), without(without), known(std::move(known)),
      hints(propagateInOrder(given)), problem(withoutHints(given)),
      tables(problem, options, preferredAxisOrder(problem), &hints) {}

bool ProblemSearch::isLeftOut(llvm::StringRef name) const {
  return llvm::is_contained(without, name);
}

std::vector<FoundMoves> ProblemSearch::findOwnMoves() const {
  std::vector<FoundMoves> found = findMoves(problem);
  llvm::erase_if(found,
                 [&](const FoundMoves &own) { return isLeftOut(own.name); });
  return found;
}

/// Of the neighbourhoods of a plan the first that gains, then all over again:
/// variable neighbourhood descent (Mladenovic and Hansen). Single changes of
/// one op, chains of them, then the moves of each source.
void ProblemSearch::improve(Plan &plan, double slack,
                            llvm::ArrayRef<FoundMoves> tried) {
  constexpr unsigned kMaxRounds = 24;
  LDBG() << "  begins at " << costOf(plan);
  if (options.effort < SearchEffort::Descent)
    return;
  descend(plan, options.maxSweeps);
  LDBG() << "  descent: " << costOf(plan);
  if (options.effort < SearchEffort::Quick)
    return;
  for (unsigned round = 0; round < kMaxRounds; ++round) {
    moveChains(plan, slack);
    LDBG() << "  chains:  " << costOf(plan);
    if (llvm::none_of(tried, [&](const FoundMoves &found) {
          return tryMoves(plan, found) >= kMinGain;
        }))
      return;
  }
}

//===----------------------------------------------------------------------===//
// Starts
//===----------------------------------------------------------------------===//

const ProblemSearch::Start ProblemSearch::kStarts[] = {
    {"the hints", &ProblemSearch::chooseByHints, &AssignmentOptions::slack,
     SearchEffort::Greedy},
    {"nothing split", &ProblemSearch::chooseNothing,
     &AssignmentOptions::wholeSlack, SearchEffort::Quick},
    {"what is found where arithmetic counts tenfold",
     &ProblemSearch::chooseDearArithmetic, &AssignmentOptions::slack,
     SearchEffort::Full},
    {"what is found where annotations that only ask bind",
     &ProblemSearch::chooseBindingHints, &AssignmentOptions::slack,
     SearchEffort::Full},
};

const ProblemSearch::Start ProblemSearch::kStartsOfCutAxes[] = {
    {"what is found where axes are whole", &ProblemSearch::chooseWholeAxes,
     &AssignmentOptions::slack, SearchEffort::Quick},
    {"the hints", &ProblemSearch::chooseHintsOfCutAxes,
     &AssignmentOptions::slack, SearchEffort::Full},
};

std::optional<ProblemSearch::Choices>
ProblemSearch::chooseByHints(const Plan *) {
  return chooseGreedily(tables, hints);
}

/// But for what annotations ask for.
std::optional<ProblemSearch::Choices>
ProblemSearch::chooseNothing(const Plan *) {
  return Choices(problem.ops.size(), 0);
}

/// No work is done twice there. From there the search gets to plans that it
/// would not find from those that trade arithmetic for bytes at once. Neither
/// of the two starts leads to all of them.
std::optional<ProblemSearch::Choices>
ProblemSearch::chooseDearArithmetic(const Plan *) {
  tables.setFlopsPerByte(options.flopsPerByte / 10);
  // Moves of the most ops take the longest.
  Plan plan = searchFrom(llvm::ArrayRef(kStarts).take_front(2),
                         llvm::ArrayRef(moves).drop_back());
  tables.setFlopsPerByte(options.flopsPerByte);
  Choices choices;
  for (unsigned op = 0; op < problem.ops.size(); ++op)
    choices.push_back(plan.choiceOf(op));
  return choices;
}

/// What binds keeps values that are moved to and fro at one place; from there
/// the search gets further than where each of them may leave.
std::optional<ProblemSearch::Choices>
ProblemSearch::chooseBindingHints(const Plan *best) {
  if (best && followsHints(*best, given))
    return std::nullopt;
  AssignmentProblem other = withBindingHints(given);
  CostTables binding(other, options, preferredAxisOrder(other), &hints);
  Plan plan(binding, *chooseNothing(nullptr));
  improve(plan, options.slack, moves);
  return copyChoices(tables, plan,
                     llvm::to_vector(llvm::seq<unsigned>(problem.ops.size())));
}

/// Axes are cut for the sake of few reshapes; most values have all parts of an
/// axis at one place, to which the parts would have to come one by one.
std::optional<ProblemSearch::Choices>
ProblemSearch::chooseWholeAxes(const Plan *) {
  ProblemSearch search(wholeAxes->problem, options, without);
  Plan found = search.searchWhole();
  isWholeBounded = options.cluster && search.isBounded();
  std::vector<FactorSharding> split;
  split.reserve(problem.ops.size());
  for (unsigned op = 0; op < problem.ops.size(); ++op)
    split.push_back(wholeAxes->expand(
        found.getTables().classOf(op).split(found.choiceOf(op))));
  return findChoices(tables, split);
}

/// Of seconds they find nothing behind a bound of whole axes.
std::optional<ProblemSearch::Choices>
ProblemSearch::chooseHintsOfCutAxes(const Plan *best) {
  if (isWholeBounded)
    return std::nullopt;
  return chooseByHints(best);
}

Plan ProblemSearch::searchFrom(llvm::ArrayRef<Start> starts,
                               llvm::ArrayRef<FoundMoves> tried) {
  std::optional<Plan> best;
  for (const Start &start : starts) {
    if (options.effort < start.least ||
        (starts.size() > 1 && isLeftOut(start.name)))
      continue;
    LDBG() << "from " << start.name;
    std::optional<Choices> choices =
        (this->*start.choose)(best ? &*best : nullptr);
    if (!choices)
      continue;
    Plan plan(tables, std::move(*choices));
    leaveImpossible(plan);
    improve(plan, options.*start.slack, tried);
    if (best)
      keepCheaper(*best, std::move(plan), start.name);
    else
      best.emplace(std::move(plan));
  }
  if (options.effort >= SearchEffort::Quick && !isLeftOut("last chains"))
    moveChains(*best, options.lastSlack);
  return std::move(*best);
}

//===----------------------------------------------------------------------===//
// Layers that repeat
//===----------------------------------------------------------------------===//

Plan ProblemSearch::searchFromKnown() {
  Plan plan(tables, findChoices(tables, known));
  leaveImpossible(plan);
  improve(plan, options.slack, moves);
  moveChains(plan, options.lastSlack);
  return plan;
}

/// The bound says whether other starts may gain anything.
Plan ProblemSearch::searchNarrow() {
  llvm::ArrayRef<Start> starts = kStarts;
  Plan plan = searchFrom(starts.take_front(2), moves);
  std::optional<double> bound =
      searchByBound(plan, {.leastGain = kNoGain, .maxSplits = 40});
  if (!bound || *bound < plan.totalCost() * (1 - kNoGain))
    keepCheaper(plan, searchFrom(starts.drop_front(2), moves),
                "what is found from further starts");
  return plan;
}

Plan ProblemSearch::searchWhole() {
  if (options.effort >= SearchEffort::Quick)
    moves = findOwnMoves();
  if (!known.empty())
    return searchFromKnown();
  if (options.effort >= SearchEffort::Quick)
    wholeAxes = mergeSubAxes(given);
  if (wholeAxes)
    return searchFrom(kStartsOfCutAxes, moves);
  if (isLeftOut(kBoundStart) || !isBounded())
    return searchFrom(kStarts, moves);
  if (isNarrow())
    return searchNarrow();
  Plan plan = searchFrom(kStarts, moves);
  searchByBound(plan, {.maxSweeps = kSweepsOfSmall,
                       .alwaysTried = kSweepsOfSmall,
                       .leastGuessed = 0.005});
  if (!isLeftOut("last chains"))
    moveChains(plan, options.lastSlack);
  return plan;
}

/// Of each value of `plan` its layouts, as `tables` number them.
static std::vector<llvm::SmallVector<LayoutId, 4>>
translateLayouts(const Plan &plan, CostTables &tables) {
  std::vector<llvm::SmallVector<LayoutId, 4>> all;
  for (unsigned value = 0; value < plan.getTables().problem.values.size();
       ++value) {
    auto &layouts = all.emplace_back(plan.layoutsOf(value));
    for (LayoutId &layout : layouts)
      layout = tables.intern(plan.getTables().layout(layout));
    llvm::sort(llvm::drop_begin(layouts));
  }
  return all;
}

/// The ops one of whose values is made or needed otherwise than that of the
/// stand-in: between layers that do not choose alike.
static std::vector<unsigned> findSeams(const Plan &plan, const Plan &folded,
                                       llvm::ArrayRef<unsigned> standIns) {
  auto layouts = translateLayouts(folded, plan.getTables());
  std::vector<unsigned> seams;
  for (auto [op, standIn] : llvm::enumerate(standIns)) {
    auto differs = [&](auto pair) {
      auto [value, other] = pair;
      return plan.layoutsOf(value) != layouts[other];
    };
    const AssignmentProblem::Op &own = plan.getTables().problem.ops[op];
    const AssignmentProblem::Op &other =
        folded.getTables().problem.ops[standIn];
    if (llvm::any_of(llvm::zip_equal(own.operands, other.operands), differs) ||
        llvm::any_of(llvm::zip_equal(own.results, other.results), differs))
      seams.push_back(op);
  }
  return seams;
}

/// All layers choose as their stand-ins; then what lies between layers that do
/// not choose alike is mended.
Plan ProblemSearch::unfold(const Plan &found,
                           llvm::ArrayRef<unsigned> standIns) {
  Plan plan(tables, copyChoices(tables, found, standIns));
  leaveImpossible(plan);
  LDBG() << "unfolded: " << costOf(plan);
  descend(plan, options.maxSweeps);
  LDBG() << "  descent: " << costOf(plan);
  return plan;
}

/// Of equal layers some may choose otherwise, as each pays only where it meets
/// another: inner ones are alike, as the first of them or as the last, or half
/// and half.
Plan ProblemSearch::searchFolded(const FoldedProblem &folded) {
  std::vector<FactorSharding> knownOfStandIns(
      known.empty() ? 0 : folded.problem.ops.size());
  for (auto [own, standIn] : llvm::zip(known, folded.nearest))
    knownOfStandIns[standIn] = own;
  ProblemSearch search(folded.problem, options, without,
                       std::move(knownOfStandIns));
  Plan found = search.search();
  Plan plan = unfold(found, folded.nearest);
  const std::vector<unsigned> *standIns = &folded.nearest;
  for (const auto *other : {&folded.before, &folded.behind}) {
    Plan next = unfold(found, *other);
    if (next.totalCost() < plan.totalCost() - kMinGain)
      plan = std::move(next), standIns = other;
  }
  std::vector<unsigned> seams = findSeams(plan, found, *standIns);
  moveChains(plan, options.slack, seams);
  LDBG() << "  chains from " << seams.size()
         << " ops between layers: " << costOf(plan);
  return plan;
}

/// Less effort takes no time that grows faster than layers do.
Plan ProblemSearch::search() {
  if (options.foldRepeats && options.effort >= SearchEffort::Quick)
    if (std::optional<FoldedProblem> folded = foldRepeats(given))
      return searchFolded(*folded);
  return searchWhole();
}

//===----------------------------------------------------------------------===//
// A lower bound
//===----------------------------------------------------------------------===//

/// Whether a bound takes no longer than two more starts: ops have few choices,
/// as along one axis, or there are few ops. It prices reshards between pairs of
/// layouts, and goes over them in each sweep. Where annotations only ask, it is
/// the starts that begin with what they ask for.
bool ProblemSearch::isNarrow() {
  constexpr ChoiceIndex kFew = 32, kFewTogether = 2000;
  constexpr double kFewPairs = 250000;
  ChoiceIndex most = 0, all = 0;
  double pairs = 0;
  for (unsigned op = 0; op < problem.ops.size(); ++op) {
    ChoiceIndex number = tables.classOf(op).numChoices();
    most = std::max(most, number);
    all += number;
    pairs += double(number) * number;
  }
  // Of seconds more choices are isSmall's.
  bool areFew = options.cluster ? all <= kFewTogether : pairs <= kFewPairs;
  return llvm::none_of(given.ops, isHint) && (most <= kFew || areFew);
}

bool ProblemSearch::isBounded() {
  return options.effort >= SearchEffort::Full && (isNarrow() || isSmall());
}

/// Whether a bound over several axes takes no longer than two more starts. Of
/// seconds it is the better way to spend them: what a start finds there hangs
/// on ties.
bool ProblemSearch::isSmall() {
  ChoiceIndex number = 0;
  for (unsigned op = 0; op < problem.ops.size(); ++op)
    number += tables.classOf(op).numChoices();
  return options.cluster && number <= kChoicesOfSmall;
}

/// Searches from the plans that a lower bound suggests; what none costs less
/// than.
std::optional<double> ProblemSearch::searchByBound(Plan &plan,
                                                   const BoundEffort &effort) {
  if (moves.empty())
    moves = findOwnMoves();
  std::set<Choices> tried;
  auto tryPlan = [&](const Choices &choices) {
    if (tried.insert(choices).second) {
      Plan other(tables, choices);
      leaveImpossible(other);
      improve(other, options.slack, moves);
      keepCheaper(plan, std::move(other), kBoundStart,
                  std::max(kMinGain, kNoGain * plan.totalCost()));
    }
    return std::min(plan.totalCost(), options.mostCost);
  };
  return findLowerBound(tables, std::min(plan.totalCost(), options.mostCost),
                        effort, tryPlan);
}
