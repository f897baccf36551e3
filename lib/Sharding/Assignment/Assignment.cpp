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

/// `seeds`: where chains begin; they are copies, or what was changed.
static Assignment searchFrom(const AssignmentProblem &problem,
                             std::vector<FactorSharding> start,
                             llvm::ArrayRef<unsigned> seeds, bool areCopies,
                             const AssignmentOptions &options) {
  ReorderedProblem canonical(problem, canonicalOrder(problem));
  std::vector<FactorSharding> begin;
  std::vector<unsigned> places(problem.ops.size());
  for (auto [place, original] : llvm::enumerate(canonical.ops)) {
    begin.push_back(std::move(start[original]));
    places[original] = place;
  }
  auto seedPlaces = llvm::map_to_vector(
      seeds, [&](unsigned original) { return places[original]; });
  PricedOptions priced(options);
  return inOriginalOrder(ProblemSearch(canonical.problem, priced.options)
                             .improveFrom(begin, seedPlaces, areCopies),
                         canonical);
}

Assignment shoal::improveShardings(const AssignmentProblem &problem,
                                   std::vector<FactorSharding> start,
                                   llvm::ArrayRef<unsigned> copies,
                                   const AssignmentOptions &options) {
  return searchFrom(problem, std::move(start), copies, /*areCopies=*/true,
                    options);
}

Assignment shoal::adaptShardings(const AssignmentProblem &problem,
                                 std::vector<FactorSharding> start,
                                 unsigned changed,
                                 const AssignmentOptions &options) {
  return searchFrom(problem, std::move(start), changed, /*areCopies=*/false,
                    options);
}
