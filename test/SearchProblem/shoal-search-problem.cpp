// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// shoal-search-problem: what the search for shardings chooses among, for tests
// that look for the cheapest by other means. It is no part of an installation.

#include "Options.h"
#include "Problems.h"
#include "Sharding/AllPlans.h"
#include "Sharding/Assignment/AskingProblem.h"
#include "Sharding/Assignment/ProblemSearch.h"
#include "Writer.h"
#include "shoal/Machine/Machine.h"
#include "shoal/Sharding/CanonicalOrder.h"
#include "shoal/Sharding/MeshSearch.h"
#include "shoal/Sharding/ReshardPrices.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/InitLLVM.h"

using namespace shoal;
using namespace shoal::assignment;

/// As --shoal-assign has them by default, or the planner.
static AssignmentOptions pricesOf(const SearchProblemOptions &options) {
  AssignmentOptions prices;
  const Machine &machine = machineOf(MachineKind::CPU);
  prices.pricePlans = true;
  if (options.numRandom > 0) {
    // As the unit tests price them.
    prices.pricePlans = false;
    prices.repeatMargin = 1;
  } else if (options.flopsPerByte > 0) {
    prices.flopsPerByte = options.flopsPerByte;
  } else {
    prices.flopsPerByte = machine.flopsPerLinkByte;
    prices.latencyBytes = latencyBytes(machine);
  }
  if (options.cluster)
    priceOn(*options.cluster, prices);
  prices.certify = options.certify;
  return prices;
}

namespace {
/// What is said of a problem.
class Report {
public:
  Report(const SearchProblemOptions &options, llvm::json::OStream &json)
      : options(options), prices(pricesOf(options)), json(json) {
    prices.reshardPrices = &reshardPrices;
  }
  void write(const AssignmentProblem &given, llvm::StringRef name);

private:
  Assignment search(const AssignmentProblem &problem);
  std::optional<MeshPlan> plan(const AssignmentProblem &problem,
                               std::optional<double> memory);
  std::optional<Assignment> searchWithinMemory(const AssignmentProblem &given);
  void writeTables(const AssignmentProblem &problem, const Assignment *found);

  const SearchProblemOptions &options;
  ReshardPrices reshardPrices;
  AssignmentOptions prices;
  llvm::json::OStream &json;
};
} // namespace

Assignment Report::search(const AssignmentProblem &problem) {
  auto without = llvm::map_to_vector(
      options.without,
      [](const std::string &name) -> llvm::StringRef { return name; });
  Assignment found = ProblemSearch(problem, prices, without).run();
  json.attribute("cost", found.cost.total());
  if (found.lowerBound)
    json.attribute("bound", *found.lowerBound);
  return found;
}

std::optional<MeshPlan> Report::plan(const AssignmentProblem &problem,
                                     std::optional<double> memory) {
  std::vector<MeshPlan> plans =
      searchMeshes(problem, problem.mesh, {prices, memory});
  if (plans.empty())
    return std::nullopt;
  return std::move(plans[0]);
}

/// As the planner does over one mesh.
std::optional<Assignment>
Report::searchWithinMemory(const AssignmentProblem &problem) {
  MeshPlan free = *plan(problem, std::nullopt);
  double memory = options.memoryShare * free.heldBytes;
  json.attribute("free_cost", free.cost);
  json.attribute("free_held", free.heldBytes);
  json.attribute("memory", memory);
  std::optional<MeshPlan> found = plan(problem, memory);
  if (!found)
    return std::nullopt;
  json.attribute("cost", found->cost);
  json.attribute("held", found->heldBytes);
  if (found->leastCost)
    json.attribute("bound", *found->leastCost);
  return std::move(found->assignment);
}

/// What is chosen among is what the search has: annotations bind, or are hints.
void Report::writeTables(const AssignmentProblem &problem,
                         const Assignment *found) {
  AssignmentProblem binding = withoutHints(problem);
  Hints hints = propagateInOrder(problem);
  AssignmentOptions weighed = prices;
  weighed.heldWeight = kHeldWeight;
  CostTables tables(binding, weighed, preferredAxisOrder(binding), &hints);
  writeProblem(tables, found, json);
  if (options.enumerate)
    json.attribute("best_of_all", testing::bestOfAll(tables));
}

void Report::write(const AssignmentProblem &given, llvm::StringRef name) {
  ReorderedProblem canonical(given, canonicalOrder(given));
  const AssignmentProblem &problem = canonical.problem;
  json.object([&] {
    json.attribute("name", name);
    json.attributeArray("mesh", [&] {
      for (const MeshAxis &axis : problem.mesh.axes)
        json.value(axis.size);
    });
    std::optional<Assignment> found =
        options.memoryShare > 0 ? searchWithinMemory(problem) : search(problem);
    if (!options.costsAlone)
      writeTables(problem, found ? &*found : nullptr);
  });
}

int main(int argc, char **argv) {
  llvm::InitLLVM initialize(argc, argv);
  SearchProblemOptions options = parseSearchProblemOptions(argc, argv);
  auto write = [&](const AssignmentProblem &problem, llvm::StringRef name) {
    llvm::json::OStream json(llvm::outs());
    Report(options, json).write(problem, name);
    json.flush();
    llvm::outs() << '\n';
  };
  unsigned number = options.seed;
  forRandomProblems(options, [&](const AssignmentProblem &problem) {
    write(problem, "random " + std::to_string(number++));
  });
  for (const std::string &path : options.inputs)
    if (!forProblemsOf(path, options, [&](const AssignmentProblem &problem) {
          write(problem, path);
        }))
      return 1;
  return 0;
}
