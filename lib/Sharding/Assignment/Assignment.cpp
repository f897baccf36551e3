// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/Assignment.h"
#include "AskingProblem.h"
#include "ProblemSearch.h"
#include "Search.h"
#include "shoal/Sharding/CanonicalOrder.h"
#include "shoal/Sharding/ReshardPrices.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace shoal;
using namespace shoal::assignment;

//===----------------------------------------------------------------------===//
// What is asked of a search
//===----------------------------------------------------------------------===//

/// Of the ops that make and read a value those from which chains begin where
/// one of them is new.
static constexpr size_t kMaxNear = 8;

Assignment ProblemSearch::settled(Plan plan, std::optional<double> bound) {
  settleResults(plan);
  Assignment found = describe(plan, std::move(hints));
  if (bound)
    found.lowerBound = std::min(*bound, found.cost.total());
  return found;
}

static constexpr BoundEffort kCertificate{.maxSplits = 100};
/// Where the plan is one of many, of several meshes: splits that are too large
/// to settle anything are not begun.
static constexpr BoundEffort kQuickCertificate{
    .leastGuessed = 0.005, .maxSplits = 100, .maxSplitChoices = 6000};
static constexpr BoundEffort kLargeCertificate{.maxSweeps = 64};

Assignment ProblemSearch::run() {
  Plan plan = search();
  std::optional<double> bound;
  if (options.certify)
    bound = searchByBound(plan, kCertificate);
  return settled(std::move(plan), bound);
}

Assignment ProblemSearch::certifyFrom(llvm::ArrayRef<FactorSharding> start) {
  Plan plan(tables, findChoices(tables, start));
  leaveImpossible(plan);
  std::optional<double> bound =
      searchByBound(plan, isSmall() ? kQuickCertificate : kLargeCertificate);
  return settled(std::move(plan), bound);
}

Assignment ProblemSearch::improveFrom(llvm::ArrayRef<FactorSharding> start,
                                      llvm::ArrayRef<unsigned> changed,
                                      bool areCopies) {
  Plan plan(tables, findChoices(tables, start));
  leaveImpossible(plan);
  if (areCopies)
    makeAsNeeded(plan, changed);
  descend(plan, options.maxSweeps);
  llvm::SmallSetVector<unsigned, 32> seeds;
  for (unsigned op : changed)
    for (unsigned value : plan.valuesOf(op))
      for (unsigned near : plan.opsNear(value, op, kMaxNear))
        seeds.insert(near);
  moveChains(plan, options.slack, seeds.getArrayRef());
  return settled(std::move(plan), std::nullopt);
}

//===----------------------------------------------------------------------===//
// In the problem's own order
//===----------------------------------------------------------------------===//

static Assignment inOriginalOrder(Assignment assignment,
                                  const ReorderedProblem &canonical) {
  assignment.ops = canonical.opsBack(std::move(assignment.ops));
  assignment.uses = canonical.opsBack(std::move(assignment.uses));
  assignment.flops = canonical.opsBack(std::move(assignment.flops));
  assignment.exchanges = canonical.opsBack(std::move(assignment.exchanges));
  assignment.values = canonical.valuesBack(std::move(assignment.values));
  assignment.hints.renumber(canonical.ops, canonical.values);
  return assignment;
}

namespace {
/// Options with prices of reshards: the caller's, or some for one search.
struct PricedOptions {
  explicit PricedOptions(const AssignmentOptions &given) : options(given) {
    if (!options.reshardPrices)
      options.reshardPrices = &own;
  }
  PricedOptions(const PricedOptions &) = delete;

  ReshardPrices own;
  AssignmentOptions options;
};
} // namespace

Assignment shoal::assignShardings(const AssignmentProblem &problem,
                                  const AssignmentOptions &options,
                                  llvm::ArrayRef<FactorSharding> known) {
  ReorderedProblem canonical(problem, canonicalOrder(problem));
  PricedOptions priced(options);
  std::vector<FactorSharding> reordered;
  if (!known.empty())
    for (unsigned original : canonical.ops)
      reordered.push_back(known[original]);
  return inOriginalOrder(
      ProblemSearch(canonical.problem, priced.options, {}, std::move(reordered))
          .run(),
      canonical);
}

/// What `search` makes of the problem in canonical order, of `start` and of the
/// places of `ops` there.
template <typename Search>
static Assignment searchFrom(const AssignmentProblem &problem,
                             std::vector<FactorSharding> start,
                             llvm::ArrayRef<unsigned> ops,
                             const AssignmentOptions &options, Search search) {
  ReorderedProblem canonical(problem, canonicalOrder(problem));
  std::vector<FactorSharding> begin;
  std::vector<unsigned> places(problem.ops.size());
  for (auto [place, original] : llvm::enumerate(canonical.ops)) {
    begin.push_back(std::move(start[original]));
    places[original] = place;
  }
  auto opPlaces = llvm::map_to_vector(
      ops, [&](unsigned original) { return places[original]; });
  PricedOptions priced(options);
  ProblemSearch own(canonical.problem, priced.options);
  return inOriginalOrder(search(own, begin, opPlaces), canonical);
}

Assignment shoal::certifyShardings(const AssignmentProblem &problem,
                                   std::vector<FactorSharding> start,
                                   const AssignmentOptions &options) {
  return searchFrom(problem, std::move(start), {}, options,
                    [](ProblemSearch &search, auto &begin, auto &) {
                      return search.certifyFrom(begin);
                    });
}

Assignment shoal::improveShardings(const AssignmentProblem &problem,
                                   std::vector<FactorSharding> start,
                                   llvm::ArrayRef<unsigned> copies,
                                   const AssignmentOptions &options) {
  return searchFrom(problem, std::move(start), copies, options,
                    [](ProblemSearch &search, auto &begin, auto &places) {
                      return search.improveFrom(begin, places,
                                                /*areCopies=*/true);
                    });
}

Assignment shoal::adaptShardings(const AssignmentProblem &problem,
                                 std::vector<FactorSharding> start,
                                 unsigned changed,
                                 const AssignmentOptions &options) {
  return searchFrom(problem, std::move(start), changed, options,
                    [](ProblemSearch &search, auto &begin, auto &places) {
                      return search.improveFrom(begin, places,
                                                /*areCopies=*/false);
                    });
}
