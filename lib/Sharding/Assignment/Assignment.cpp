// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/Assignment.h"
#include "ProblemSearch.h"
#include "shoal/Sharding/CanonicalOrder.h"
#include "shoal/Sharding/ReshardPrices.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace shoal;
using namespace shoal::assignment;

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
                                  const AssignmentOptions &options) {
  ReorderedProblem canonical(problem, canonicalOrder(problem));
  PricedOptions priced(options);
  return inOriginalOrder(ProblemSearch(canonical.problem, priced.options).run(),
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
