// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/MeshSearch.h"
#include "WholeAxes.h"
#include "shoal/Sharding/ReshardCost.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Parallel.h"
#include <algorithm>
#include <cmath>

#define DEBUG_TYPE "shoal-mesh-search"

using namespace shoal;
using namespace shoal::assignment;

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
  /// The next quick searches go on from this plan over a mesh that is this one
  /// with two neighbouring axes as one, the first of which is `axis` here.
  void beginAt(const MeshPlan &plan, AxisId axis);
  /// Says what none costs less than, and takes a cheaper plan that is found on
  /// the way.
  void certify(MeshPlan &plan);

private:
  AssignmentOptions optionsAt(double price, SearchEffort effort) const;
  llvm::ArrayRef<FactorSharding> knownFor(SearchEffort effort) const {
    return effort == SearchEffort::Quick ? llvm::ArrayRef(known)
                                         : llvm::ArrayRef<FactorSharding>();
  }
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
  /// How each op is split where quick searches begin, or nothing.
  std::vector<FactorSharding> known;
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
  return planOf(
      assignShardings(problem, optionsAt(price, effort), knownFor(effort)),
      price);
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

void MeshSearch::beginAt(const MeshPlan &plan, AxisId axis) {
  WholeAxes whole;
  for (AxisId own = 0; own < plan.mesh.axes.size(); ++own)
    whole.parts.push_back(own == axis  ? AxisList{axis, axis + 1}
                          : own > axis ? AxisList{own + 1}
                                       : AxisList{own});
  known.clear();
  for (const FactorSharding &split : plan.assignment.ops)
    known.push_back(whole.expand(split));
}

/// As if there were enough memory: of plans that cost the same, the one that
/// holds least.
MeshPlan MeshSearch::searchFree(SearchEffort effort, double mostCost) {
  price = leastPrice;
  AssignmentOptions assignment = optionsAt(price, effort);
  assignment.mostCost = mostCost;
  return planOf(assignShardings(problem, assignment, knownFor(effort)), price);
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

/// Over three and more axes the search begins at the cheapest plan over a mesh
/// with two of them as one, which is a plan of this mesh, too: what it costs.
static std::optional<double>
beginAtFewerAxes(MeshSearch &search, const Mesh &mesh,
                 llvm::ArrayRef<Candidate> candidates) {
  const MeshPlan *best = nullptr;
  AxisId first = 0;
  for (AxisId axis = 0; mesh.axes.size() > 2 && axis + 1 < mesh.axes.size();
       ++axis)
    for (const Candidate &other : candidates)
      if (isWithOneAxis(other.plan.mesh, mesh, axis) &&
          (!best || other.plan.cost < best->cost))
        best = &other.plan, first = axis;
  if (!best)
    return std::nullopt;
  search.beginAt(*best, first);
  return best->cost;
}

/// Searches the meshes that may be the best with full effort, as far as a bound
/// does not say that they are not: of fewer axes first, as more go on from
/// there, and the cheapest of them first.
static void searchNear(llvm::MutableArrayRef<Candidate> candidates,
                       SearchEffort effort) {
  // What a quick search finds is near enough to what a full one does.
  constexpr double kNear = 1.1;
  double best = std::numeric_limits<double>::infinity();
  std::vector<Candidate *> near;
  for (Candidate &candidate : candidates)
    if (candidate.plan.cost <= kNear * candidates[0].plan.cost)
      near.push_back(&candidate);
  llvm::sort(near, [](const Candidate *a, const Candidate *b) {
    return std::pair(a->plan.mesh.axes.size(), a) <
           std::pair(b->plan.mesh.axes.size(), b);
  });
  for (Candidate *candidate : near) {
    MeshPlan &known = candidate->plan;
    auto search = [&](SearchEffort effort) {
      std::optional<MeshPlan> plan =
          candidate->search.run(effort, best * (1 + 2 * kSameCost));
      if (plan && isBetter(*plan, known))
        known = std::move(*plan);
    };
    std::optional<double> fewer =
        beginAtFewerAxes(candidate->search, known.mesh, candidates);
    if (fewer && *fewer < known.cost)
      search(SearchEffort::Quick);
    // Of more axes, to which a plan over fewer leads, it is worth it where they
    // make that one the best.
    if (!fewer || known.cost < std::min(*fewer * (1 - kSameCost), best))
      search(effort);
    best = std::min(best, known.assignment.cost.total());
  }
}

/// What quick searches find. Those over meshes of as many axes run at once:
/// none of them goes on from another.
static std::vector<Candidate> searchQuickly(const AssignmentProblem &problem,
                                            llvm::ArrayRef<Mesh> meshes,
                                            const MeshSearchOptions &options) {
  // The first mesh has the fewest axes.
  double leastPrice = MeshSearch(problem, meshes[0], options).findLeastPrice();
  std::vector<Candidate> candidates;
  for (size_t begin = 0; begin < meshes.size();) {
    const size_t axes = meshes[begin].axes.size();
    auto alike = meshes.drop_front(begin).take_while(
        [&](const Mesh &mesh) { return mesh.axes.size() == axes; });
    std::vector<std::optional<Candidate>> found(alike.size());
    llvm::parallelFor(0, alike.size(), [&](size_t i) {
      MeshSearch search(problem, alike[i], options, leastPrice);
      beginAtFewerAxes(search, alike[i], candidates);
      if (std::optional<MeshPlan> plan = search.run(SearchEffort::Quick))
        found[i].emplace(begin + i, std::move(search), std::move(*plan));
    });
    for (std::optional<Candidate> &candidate : found)
      if (candidate)
        candidates.push_back(std::move(*candidate));
    begin += alike.size();
  }
  return candidates;
}

std::vector<MeshPlan> shoal::searchMeshes(const AssignmentProblem &problem,
                                          llvm::ArrayRef<Mesh> meshes,
                                          const MeshSearchOptions &options) {
  std::vector<Candidate> candidates = searchQuickly(problem, meshes, options);
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
