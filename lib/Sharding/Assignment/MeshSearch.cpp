// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/MeshSearch.h"
#include "shoal/Sharding/ReshardCost.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/Format.h"
#include <algorithm>
#include <cmath>

#define DEBUG_TYPE "shoal-mesh-search"

using namespace shoal;

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

static void addShapes(int64_t devices, unsigned numAxes,
                      llvm::SmallVector<int64_t> &major,
                      std::vector<llvm::SmallVector<int64_t>> &shapes) {
  if (numAxes == 1) {
    if (devices < 2)
      return;
    shapes.push_back(major);
    shapes.back().push_back(devices);
    return;
  }
  for (int64_t size = 2; size <= devices / 2; ++size) {
    if (devices % size != 0)
      continue;
    major.push_back(size);
    addShapes(devices / size, numAxes - 1, major, shapes);
    major.pop_back();
  }
}

std::vector<llvm::SmallVector<int64_t>>
shoal::listMeshShapes(int64_t devices, unsigned maxAxes) {
  std::vector<llvm::SmallVector<int64_t>> shapes;
  for (unsigned numAxes = 1; numAxes <= maxAxes; ++numAxes) {
    llvm::SmallVector<int64_t> major;
    addShapes(devices, numAxes, major, shapes);
  }
  if (shapes.empty())
    shapes.push_back({devices});
  return shapes;
}

Mesh shoal::meshOfShape(llvm::ArrayRef<int64_t> shape) {
  static constexpr llvm::StringLiteral kNames[] = {"x", "y", "z"};
  Mesh mesh{"mesh", {}, {}};
  for (auto [i, size] : llvm::enumerate(shape)) {
    std::string name =
        i < std::size(kNames) ? kNames[i].str() : "x" + std::to_string(i);
    mesh.axes.push_back({std::move(name), 1, size, size});
  }
  return mesh;
}

//===----------------------------------------------------------------------===//
// What is held
//===----------------------------------------------------------------------===//

/// The argument, or the result, that the op stands for.
static unsigned valueOf(const AssignmentProblem::Op &op) {
  return op.results.empty() ? op.operands[0] : op.results[0];
}

double shoal::heldBytes(const AssignmentProblem &problem,
                        const Assignment &assignment) {
  double bytes = 0;
  for (auto [op, uses] : llvm::zip_equal(problem.ops, assignment.uses)) {
    if (!op.isHeld)
      continue;
    unsigned value = valueOf(op);
    unsigned version = op.results.empty() ? uses[0] : 0;
    bytes += localBytes(
        problem.values[value].shape, problem.values[value].elementBytes,
        assignment.values[value][version].sharding, problem.mesh);
  }
  return bytes;
}

/// Of arguments and results, as if every device held all of them.
static double bytesHeldWhole(const AssignmentProblem &problem) {
  double bytes = 0;
  for (const AssignmentProblem::Op &op : problem.ops) {
    if (!op.isHeld)
      continue;
    const AssignmentProblem::Value &value = problem.values[valueOf(op)];
    bytes += localBytes(value.shape, value.elementBytes,
                        Sharding::replicated(value.shape.size()), problem.mesh);
  }
  return bytes;
}

namespace {

/// As kSameCost, of what is held.
constexpr double kSameBytes = 1e-2;
/// The share of a plan's cost that all that is held costs where there is memory
/// for it.
constexpr double kTieBreak = 1e-4;

/// The search over one mesh.
class MeshSearch {
public:
  MeshSearch(AssignmentProblem given, const Mesh &mesh,
             const MeshSearchOptions &options, double leastPrice = 0)
      : problem(std::move(given)), options(&options), leastPrice(leastPrice) {
    problem.mesh = mesh;
    problem.deviceOrders.clear();
    if (!mesh.deviceIds.empty())
      problem.deviceOrders.push_back(mesh.deviceIds);
    whole = bytesHeldWhole(problem);
  }

  /// Of a byte that is held, so that it breaks ties.
  double findLeastPrice() const;
  /// Nothing where nothing fits.
  /// mostCost: as AssignmentOptions has it, where there is memory for it.
  std::optional<MeshPlan>
  run(SearchEffort effort,
      double mostCost = std::numeric_limits<double>::infinity());
  /// Says what none costs less than, and takes a cheaper plan that is found on
  /// the way.
  void certify(MeshPlan &plan);

private:
  AssignmentOptions optionsAt(double price, SearchEffort effort) const;
  MeshPlan searchAt(const AssignmentProblem &problem, double price,
                    SearchEffort effort) const;
  /// With its cost without the price of what is held.
  MeshPlan planOf(Assignment found, double price) const;
  MeshPlan searchFree(SearchEffort effort, double mostCost);
  std::optional<MeshPlan> fit(MeshPlan tooLarge, SearchEffort effort);
  MeshPlan fill(MeshPlan fitting, const MeshPlan &tooLarge,
                SearchEffort effort) const;
  bool fits(const MeshPlan &plan) const {
    return !options->memory || plan.heldBytes <= *options->memory;
  }

  AssignmentProblem problem;
  const MeshSearchOptions *options;
  /// Of a byte that is held: the least that breaks ties, and the one that the
  /// plan was found with.
  double leastPrice = 0, price = 0;
  /// What a device would hold that holds all.
  double whole = 0;
};

} // namespace

AssignmentOptions MeshSearch::optionsAt(double price,
                                        SearchEffort effort) const {
  AssignmentOptions assignment = options->assignment;
  assignment.heldWeight = price;
  assignment.effort = effort;
  return assignment;
}

MeshPlan MeshSearch::searchAt(const AssignmentProblem &problem, double price,
                              SearchEffort effort) const {
  return planOf(assignShardings(problem, optionsAt(price, effort)), price);
}

MeshPlan MeshSearch::planOf(Assignment found, double price) const {
  MeshPlan plan{problem.mesh, std::move(found), 0, std::nullopt, 0};
  plan.cost = plan.assignment.cost.total() - plan.assignment.cost.held;
  plan.heldBytes = ::heldBytes(problem, plan.assignment);
  if (std::optional<double> bound = plan.assignment.lowerBound)
    // Of plans that fit none holds more.
    plan.leastCost =
        *bound - price * std::min(options->memory.value_or(whole), whole);
  LDBG() << llvm::format("  a held byte at %.3g: cost %.0f, %.0f bytes", price,
                         plan.cost, plan.heldBytes);
  return plan;
}

double MeshSearch::findLeastPrice() const {
  if (whole == 0)
    return 0;
  return kTieBreak * searchAt(problem, 0, SearchEffort::Quick).cost / whole;
}

/// As if there were enough memory: of plans that cost the same, the one that
/// holds least.
MeshPlan MeshSearch::searchFree(SearchEffort effort, double mostCost) {
  price = leastPrice;
  AssignmentOptions assignment = optionsAt(price, effort);
  assignment.mostCost = mostCost;
  return planOf(assignShardings(problem, assignment), price);
}

/// The price of a byte rises until the plan fits, and falls again while it
/// does.
std::optional<MeshPlan> MeshSearch::fit(MeshPlan tooLarge,
                                        SearchEffort effort) {
  constexpr unsigned kMaxRises = 12, kMaxHalvings = 5;
  constexpr double kRise = 8;
  double low = leastPrice, high = leastPrice;
  std::optional<MeshPlan> fitting;
  for (unsigned rise = 0; rise < kMaxRises && !fitting; ++rise) {
    low = high;
    high *= kRise;
    MeshPlan plan = searchAt(problem, high, effort);
    if (fits(plan))
      fitting = std::move(plan);
    else
      tooLarge = std::move(plan);
  }
  if (!fitting)
    return std::nullopt;
  price = high;
  for (unsigned i = 0; i < kMaxHalvings; ++i) {
    double middle = std::sqrt(low * high);
    MeshPlan plan = searchAt(problem, middle, effort);
    if (!fits(plan)) {
      low = middle;
      tooLarge = std::move(plan);
      continue;
    }
    high = middle;
    if (plan.cost < fitting->cost)
      fitting = std::move(plan), price = middle;
  }
  return fill(std::move(*fitting), tooLarge, effort);
}

/// What a price of bytes cannot say: as many arguments as fit lie as in the
/// plan that is too large, and all else follows.
MeshPlan MeshSearch::fill(MeshPlan fitting, const MeshPlan &tooLarge,
                          SearchEffort effort) const {
  // By how many bytes each argument is larger there.
  std::vector<std::pair<double, unsigned>> order;
  AssignmentProblem bound = problem;
  auto shardingIn = [&](const MeshPlan &plan, unsigned op) -> const Sharding & {
    return plan.assignment.values[problem.ops[op].results[0]][0].sharding;
  };
  for (auto [id, op] : llvm::enumerate(problem.ops)) {
    if (!op.isHeld || op.constraint || op.results.empty() ||
        shardingIn(fitting, id) == shardingIn(tooLarge, id))
      continue;
    const AssignmentProblem::Value &value = problem.values[op.results[0]];
    auto bytesOf = [&](const MeshPlan &plan) {
      return localBytes(value.shape, value.elementBytes, shardingIn(plan, id),
                        problem.mesh);
    };
    order.emplace_back(bytesOf(tooLarge) - bytesOf(fitting), id);
  }
  llvm::sort(order);
  for (auto [bytes, id] : order) {
    if (fitting.heldBytes + bytes > *options->memory)
      continue;
    ShardingConstraint constraint;
    for (const AxisList &axes : shardingIn(tooLarge, id).dims)
      constraint.dims.push_back({axes});
    bound.ops[id].constraint = std::move(constraint);
    MeshPlan plan = searchAt(bound, price, effort);
    if (fits(plan) && plan.cost < fitting.cost)
      fitting = std::move(plan);
    else
      bound.ops[id].constraint.reset();
  }
  return fitting;
}

std::optional<MeshPlan> MeshSearch::run(SearchEffort effort, double mostCost) {
  MeshPlan plan = searchFree(effort, mostCost);
  if (fits(plan))
    return plan;
  return fit(std::move(plan), effort);
}

void MeshSearch::certify(MeshPlan &plan) {
  AssignmentOptions assignment = optionsAt(price, options->assignment.effort);
  MeshPlan other =
      planOf(certifyShardings(problem, plan.assignment.ops, assignment), price);
  if (other.leastCost)
    other.leastCost = std::max(*other.leastCost, 0.0);
  if (fits(other) && other.cost < plan.cost)
    plan = std::move(other);
  else
    plan.leastCost = other.leastCost;
  if (plan.leastCost)
    plan.leastCost = std::min(*plan.leastCost, plan.cost);
}

//===----------------------------------------------------------------------===//
// All meshes
//===----------------------------------------------------------------------===//

/// (kSameCost)
static bool isBetter(const MeshPlan &a, const MeshPlan &b) {
  if (std::abs(a.cost - b.cost) > kSameCost * std::min(a.cost, b.cost))
    return a.cost < b.cost;
  if (std::abs(a.heldBytes - b.heldBytes) >
      kSameBytes * std::min(a.heldBytes, b.heldBytes))
    return a.heldBytes < b.heldBytes;
  return a.mesh.axes.size() < b.mesh.axes.size();
}

namespace {
/// What is found over one of the meshes.
struct Candidate {
  size_t mesh;
  MeshSearch search;
  MeshPlan plan;
};
} // namespace

/// Searches the meshes that may be the best, the cheapest of them first, with
/// full effort, as far as a bound does not say that they are not.
static void searchNear(llvm::MutableArrayRef<Candidate> candidates,
                       SearchEffort effort) {
  // What a quick search finds is near enough to what a full one does.
  constexpr double kNear = 1.1;
  double best = std::numeric_limits<double>::infinity();
  const double near = candidates.empty() ? 0 : kNear * candidates[0].plan.cost;
  for (Candidate &candidate : candidates) {
    if (candidate.plan.cost > near)
      break;
    std::optional<MeshPlan> plan =
        candidate.search.run(effort, best * (1 + 2 * kSameCost));
    if (plan && isBetter(*plan, candidate.plan))
      candidate.plan = std::move(*plan);
    best = std::min(best, candidate.plan.assignment.cost.total());
  }
}

std::vector<MeshPlan> shoal::searchMeshes(const AssignmentProblem &problem,
                                          llvm::ArrayRef<Mesh> meshes,
                                          const MeshSearchOptions &options) {
  std::vector<Candidate> candidates;
  // The first mesh has the fewest axes.
  double leastPrice = MeshSearch(problem, meshes[0], options).findLeastPrice();
  for (auto [i, mesh] : llvm::enumerate(meshes)) {
    MeshSearch search(problem, mesh, options, leastPrice);
    if (std::optional<MeshPlan> plan = search.run(SearchEffort::Quick))
      candidates.push_back({i, std::move(search), std::move(*plan)});
  }
  llvm::sort(candidates, [](const Candidate &a, const Candidate &b) {
    return std::pair(a.plan.cost, a.mesh) < std::pair(b.plan.cost, b.mesh);
  });
  searchNear(candidates, options.assignment.effort);
  // The best first: what is as good is no order of its own, so none of sort's.
  for (size_t i = 0; i < candidates.size(); ++i) {
    auto best = candidates.begin() + i;
    for (auto it = best + 1; it != candidates.end(); ++it)
      if (isBetter(it->plan, best->plan))
        best = it;
    std::rotate(candidates.begin() + i, best, best + 1);
  }
  if (!candidates.empty())
    candidates[0].search.certify(candidates[0].plan);
  std::vector<MeshPlan> plans;
  plans.reserve(candidates.size());
  for (Candidate &candidate : candidates)
    plans.push_back(std::move(candidate.plan));
  return plans;
}
