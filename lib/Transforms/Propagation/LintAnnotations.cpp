// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LintAnnotations.h"
#include "AnnotationText.h"
#include "SentFacts.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "shoal/Sharding/ReshardCost.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace shoal;

/// Searches of the whole program without one annotation.
static constexpr size_t kMostTried = 16;
/// Annotations in whose place others are tried.
static constexpr size_t kMostReplaced = 6;
/// Of what sending costs: less is no finding.
static constexpr double kLeastShare = 0.02;

namespace {
/// What a plan costs, and the bytes that a device sends by it, and holds of
/// arguments.
struct Price {
  AssignmentCost cost;
  double sent = 0, held = 0;
};

struct Finding {
  unsigned op;
  /// Among the suspects.
  size_t rank;
  /// Without the annotation.
  Price freed;
  /// What it might say instead, and the price of that.
  std::optional<ShardingConstraint> instead = std::nullopt;
  Price price = {};

  double best() const {
    return instead ? price.cost.total() : freed.cost.total();
  }
};

class Linter {
public:
  Linter(const ExtractedProblem &extracted, const Assignment &assignment,
         const AssignmentOptions &options)
      : extracted(extracted), problem(extracted.problem),
        assignment(assignment), options(options) {
    this->options.effort = SearchEffort::Quick;
    now = priceOf(assignment);
  }
  void run();

private:
  SmallVector<unsigned> findSuspects() const;
  Assignment searchWith(unsigned op,
                        std::optional<ShardingConstraint> constraint) const;
  Price priceOf(const Assignment &plan) const;
  bool isBetter(const Price &price) const;
  bool isSamePlan(const Assignment &other) const;
  SmallVector<ShardingConstraint> variantsOf(unsigned op) const;
  void findReplacement(Finding &finding) const;
  Location locationOf(unsigned op) const;
  std::string textOf(const Finding &finding) const {
    const AssignmentProblem::Op &own = problem.ops[finding.op];
    return shoal::textOf(extracted, shardingOf(*finding.instead),
                         own.deviceOrder, own.results[0]);
  }
  std::string describe(const Price &price) const {
    return describeCost(price.sent, price.cost, now.cost, options);
  }
  void tellCost(const Finding &finding) const;
  void tellUnusedAxes() const;

  const ExtractedProblem &extracted;
  const AssignmentProblem &problem;
  const Assignment &assignment;
  AssignmentOptions options;
  Price now;
};
} // namespace

//===----------------------------------------------------------------------===//
// What is tried
//===----------------------------------------------------------------------===//

/// Annotations that a value which is sent is there for, or made or read by, the
/// most bytes first; then those inside the program.
SmallVector<unsigned> Linter::findSuspects() const {
  llvm::MapVector<unsigned, double> blame;
  std::vector<double> sent;
  for (auto [value, versions] : llvm::enumerate(assignment.values)) {
    double bytes = 0;
    for (const ValueVersion &version : versions)
      bytes += version.bytes;
    sent.push_back(bytes * problem.values[value].weight);
    if (bytes == 0)
      continue;
    for (AxisId axis = 0; axis < problem.mesh.axes.size(); ++axis)
      if (const AxisHint &hint = assignment.hints.at(value, axis);
          hint.state == AxisHint::Split)
        blame[hint.annotation] += sent.back();
  }
  for (auto [id, op] : llvm::enumerate(problem.ops)) {
    if (!isAnnotation(problem, id))
      continue;
    for (unsigned value : llvm::concat<const unsigned>(op.operands, op.results))
      blame[id] += sent[value];
  }
  SmallVector<std::pair<double, unsigned>> order;
  for (auto [op, bytes] : blame)
    if (isAnnotation(problem, op))
      order.emplace_back(-bytes, op);
  llvm::sort(order);
  SmallVector<unsigned> suspects;
  for (auto [bytes, op] : ArrayRef(order).take_front(kMostTried))
    suspects.push_back(op);
  return suspects;
}

Assignment
Linter::searchWith(unsigned op,
                   std::optional<ShardingConstraint> constraint) const {
  AssignmentProblem other = problem;
  other.ops[op].constraint = std::move(constraint);
  return assignShardings(other, options);
}

Price Linter::priceOf(const Assignment &plan) const {
  Price price{plan.cost, countSent(problem, plan)};
  for (auto [id, op] : llvm::enumerate(problem.ops)) {
    if (!extracted.ops[id].isArgument())
      continue;
    const AssignmentProblem::Value &value = problem.values[op.results[0]];
    price.held +=
        localBytes(value.shape, value.elementBytes,
                   plan.values[op.results[0]][0].sharding, problem.mesh);
  }
  return price;
}

/// Cheaper by what is worth telling, and not for holding more of the arguments:
/// a weight that is whole everywhere is sent nowhere.
bool Linter::isBetter(const Price &price) const {
  double sending = now.cost.bytes() + now.cost.latency;
  double least = std::max(kLeastShare * sending, options.latencyBytes);
  // Operations alone are told of where they are many.
  bool sendsLess = price.cost.bytes() < now.cost.bytes() ||
                   price.cost.total() < (1 - kLeastShare) * now.cost.total();
  return sending > 0 && sendsLess &&
         price.held <= now.held * (1 + kLeastShare) &&
         price.cost.total() <= now.cost.total() - least;
}

bool Linter::isSamePlan(const Assignment &other) const {
  return llvm::all_of(
      llvm::zip_equal(assignment.values, other.values), [](auto pair) {
        auto &[own, others] = pair;
        return own.size() == others.size() &&
               llvm::all_of(llvm::zip_equal(own, others), [](auto versions) {
                 auto &[a, b] = versions;
                 return a.sharding == b.sharding &&
                        a.deviceOrder == b.deviceOrder && a.parent == b.parent;
               });
      });
}

/// The annotation with one axis less, in another dimension, or replaced by one
/// that it does not name, or two of its axes exchanged.
SmallVector<ShardingConstraint> Linter::variantsOf(unsigned op) const {
  const ShardingConstraint &given = *problem.ops[op].constraint;
  SmallVector<ShardingConstraint> variants;
  auto isNamed = [&](AxisId axis) {
    return llvm::any_of(given.dims, [&](const DimConstraint &dim) {
      return llvm::is_contained(dim.axes, axis);
    });
  };
  auto add = [&](auto change) { change(variants.emplace_back(given)); };
  for (auto [d, dim] : llvm::enumerate(given.dims))
    for (auto [i, axis] : llvm::enumerate(dim.axes)) {
      auto erase = [&, d = d, i = i](ShardingConstraint &variant) {
        auto &axes = variant.dims[d].axes;
        axes.erase(axes.begin() + i);
      };
      add(erase);
      for (unsigned to = 0; to < given.dims.size(); ++to)
        if (to != d)
          add([&, axis = axis](ShardingConstraint &variant) {
            erase(variant);
            variant.dims[to].axes.push_back(axis);
          });
      for (AxisId other = 0; other < problem.mesh.axes.size(); ++other)
        if (!isNamed(other))
          add([&, d = d, i = i](ShardingConstraint &variant) {
            variant.dims[d].axes[i] = other;
          });
      for (unsigned to = d + 1; to < given.dims.size(); ++to)
        for (unsigned j = 0; j < given.dims[to].axes.size(); ++j)
          add([&, d = d, i = i](ShardingConstraint &variant) {
            std::swap(variant.dims[d].axes[i], variant.dims[to].axes[j]);
          });
    }
  return variants;
}

/// The cheapest variant that is better; where leaving it out is, too, only one
/// that saves about as much.
void Linter::findReplacement(Finding &finding) const {
  double before = now.cost.total(), best = before;
  if (isBetter(finding.freed))
    best = before - 0.9 * (before - finding.freed.cost.total());
  for (ShardingConstraint &variant : variantsOf(finding.op)) {
    Price price = priceOf(searchWith(finding.op, variant));
    if (!isBetter(price) || price.cost.total() >= best)
      continue;
    best = price.cost.total();
    finding.instead = std::move(variant);
    finding.price = price;
  }
}

//===----------------------------------------------------------------------===//
// What is said
//===----------------------------------------------------------------------===//

Location Linter::locationOf(unsigned op) const {
  const ProblemOp &origin = extracted.ops[op];
  if (origin.isArgument())
    return extracted.values[problem.ops[op].results[0]].getLoc();
  return origin.op->getLoc();
}

void Linter::tellCost(const Finding &finding) const {
  InFlightDiagnostic warning = mlir::emitWarning(
      locationOf(finding.op), nameOfAnnotation(extracted, finding.op));
  warning << llvm::formatv(" is dear: a device sends {0:N} bytes",
                           int64_t(now.sent))
                 .str();
  if (isBetter(finding.freed))
    warning << ", without it " << describe(finding.freed);
  if (finding.instead)
    warning.attachNote() << "with " << textOf(finding)
                         << " in its place it sends "
                         << describe(finding.price);
}

void Linter::tellUnusedAxes() const {
  for (AxisId axis = 0; axis < problem.mesh.axes.size(); ++axis) {
    auto splits = [&](auto pair) {
      const auto &[op, sharding] = pair;
      return llvm::is_contained(op.manualAxes, axis) ||
             llvm::any_of(sharding.axes, [&](const AxisList &axes) {
               return llvm::is_contained(axes, axis);
             });
    };
    if (problem.mesh.axes[axis].size == 1 ||
        llvm::any_of(llvm::zip_equal(problem.ops, assignment.ops), splits))
      continue;
    func::FuncOp function = extracted.function;
    mlir::emitWarning(function.getLoc(), "axis ")
        << toString(toAxesAttr({axis}, problem.mesh, function.getContext()))
        << " of size " << problem.mesh.axes[axis].size
        << " splits nothing: devices along it do the same";
  }
}

void Linter::run() {
  tellUnusedAxes();
  std::vector<Finding> tried;
  SmallVector<unsigned> idle;
  for (unsigned op : findSuspects()) {
    Assignment freed = searchWith(op, std::nullopt);
    bool isInside = !extracted.ops[op].isArgument();
    tried.push_back({op, tried.size(), priceOf(freed)});
    if (isInside && isSamePlan(freed))
      idle.push_back(op);
  }
  // What is gained by another annotation is gained by none, too, as a rule; but
  // the search may lose its way without.
  auto order = [&](const Finding &finding) {
    return std::pair(std::min(finding.freed.cost.total(), now.cost.total()),
                     finding.rank);
  };
  llvm::sort(tried, [&](const Finding &a, const Finding &b) {
    return order(a) < order(b);
  });
  if (tried.size() > kMostReplaced)
    tried.resize(kMostReplaced);
  for (Finding &finding : tried)
    findReplacement(finding);
  llvm::erase_if(tried, [&](const Finding &finding) {
    return !finding.instead && !isBetter(finding.freed);
  });
  llvm::sort(tried, [](const Finding &a, const Finding &b) {
    return std::pair(a.best(), a.op) < std::pair(b.best(), b.op);
  });
  for (const Finding &finding : tried)
    tellCost(finding);
  for (unsigned op : idle)
    mlir::emitWarning(locationOf(op), nameOfAnnotation(extracted, op))
        << " changes nothing: without it the same shardings are chosen";
}

void shoal::lintAnnotations(const ExtractedProblem &extracted,
                            const Assignment &assignment,
                            AssignmentOptions options) {
  Linter(extracted, assignment, options).run();
}
