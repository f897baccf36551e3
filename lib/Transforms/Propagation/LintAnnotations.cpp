// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LintAnnotations.h"
#include "shoal/Dialect/Shoal/IR/Axes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace shoal;

/// Searches of the whole program without one annotation.
static constexpr size_t kMostTried = 32;
/// Annotations in whose place others are tried.
static constexpr size_t kMostReplaced = 8;
/// Of what the program costs: less is no finding.
static constexpr double kLeastShare = 0.01;

namespace {
struct Finding {
  unsigned op;
  /// Without the annotation.
  AssignmentCost cost;
  /// What it might say instead, and what that costs.
  std::optional<ShardingConstraint> instead;
  AssignmentCost insteadCost;
};

class Linter {
public:
  Linter(const ExtractedProblem &extracted, const Assignment &assignment,
         const AssignmentOptions &options)
      : extracted(extracted), problem(extracted.problem),
        assignment(assignment), options(options) {
    this->options.effort = SearchEffort::Quick;
  }
  void run();

private:
  bool isAnnotation(unsigned op) const {
    const AssignmentProblem::Op &own = problem.ops[op];
    return own.constraint && !own.boundary && !own.constraint->isHint;
  }
  SmallVector<unsigned> findSuspects() const;
  Assignment searchWith(unsigned op,
                        std::optional<ShardingConstraint> constraint) const;
  bool isSamePlan(const Assignment &other) const;
  SmallVector<ShardingConstraint> variantsOf(unsigned op) const;
  void findReplacement(Finding &finding) const;
  Location locationOf(unsigned op) const;
  std::string textOf(const ShardingConstraint &constraint, unsigned op) const;
  void tellCost(const Finding &finding) const;
  void tellUnusedAxes() const;

  const ExtractedProblem &extracted;
  const AssignmentProblem &problem;
  const Assignment &assignment;
  AssignmentOptions options;
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
    if (!isAnnotation(id))
      continue;
    for (unsigned value : llvm::concat<const unsigned>(op.operands, op.results))
      blame[id] += sent[value];
  }
  SmallVector<std::pair<double, unsigned>> order;
  for (auto [op, bytes] : blame)
    if (isAnnotation(op))
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

/// The cheapest variant, where it saves about as much as leaving it out.
void Linter::findReplacement(Finding &finding) const {
  double before = assignment.cost.total(), freed = finding.cost.total();
  double best = before - 0.9 * (before - freed);
  for (ShardingConstraint &variant : variantsOf(finding.op)) {
    AssignmentCost cost = searchWith(finding.op, variant).cost;
    if (cost.total() >= best)
      continue;
    best = cost.total();
    finding.instead = std::move(variant);
    finding.insteadCost = cost;
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

std::string Linter::textOf(const ShardingConstraint &constraint,
                           unsigned op) const {
  const AssignmentProblem::Op &own = problem.ops[op];
  unsigned value = own.results.empty() ? own.operands[0] : own.results[0];
  Sharding sharding;
  for (const DimConstraint &dim : constraint.dims)
    sharding.dims.push_back(dim.axes);
  sharding.partial = constraint.partial;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << extracted.toAttr(sharding, own.deviceOrder, value);
  llvm::StringRef body(text);
  body.consume_front("#shoal.sharding");
  return body.str();
}

/// "1,024, at 12% of the plan's price".
static std::string describe(const AssignmentCost &cost, double whole) {
  return llvm::formatv("{0:N}, at {1:P0} of the plan's price",
                       int64_t(cost.bytes()), cost.total() / whole);
}

void Linter::tellCost(const Finding &finding) const {
  double whole = assignment.cost.total();
  std::string what = extracted.describe(finding.op);
  InFlightDiagnostic remark =
      mlir::emitRemark(locationOf(finding.op), "the annotation of ");
  remark << llvm::StringRef(what).split(" at ").first
         << llvm::formatv(" is dear: a device sends {0:N} bytes, without it ",
                          int64_t(assignment.cost.bytes()))
                .str()
         << describe(finding.cost, whole);
  if (finding.instead)
    remark.attachNote() << "with " << textOf(*finding.instead, finding.op)
                        << " in its place it sends "
                        << describe(finding.insteadCost, whole);
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
    mlir::emitRemark(function.getLoc(), "axis ")
        << toString(toAxesAttr({axis}, problem.mesh, function.getContext()))
        << " of size " << problem.mesh.axes[axis].size
        << " splits nothing: devices along it do the same";
  }
}

void Linter::run() {
  tellUnusedAxes();
  double whole = assignment.cost.total();
  std::vector<Finding> findings;
  SmallVector<unsigned> idle;
  for (unsigned op : findSuspects()) {
    Assignment freed = searchWith(op, std::nullopt);
    double saved = whole - freed.cost.total();
    bool isInside =
        !extracted.ops[op].isArgument() && !problem.ops[op].results.empty();
    if (saved >= std::max(kLeastShare * whole, options.latencyBytes))
      findings.push_back({op, freed.cost, std::nullopt, {}});
    else if (isInside && isSamePlan(freed))
      idle.push_back(op);
  }
  llvm::sort(findings, [](const Finding &a, const Finding &b) {
    return std::pair(a.cost.total(), a.op) < std::pair(b.cost.total(), b.op);
  });
  for (Finding &finding : MutableArrayRef(findings).take_front(kMostReplaced))
    findReplacement(finding);
  for (const Finding &finding : findings)
    tellCost(finding);
  for (unsigned op : idle)
    mlir::emitRemark(locationOf(op),
                     "this annotation changes nothing: without it the same "
                     "shardings are chosen");
}

void shoal::lintAnnotations(const ExtractedProblem &extracted,
                            const Assignment &assignment,
                            AssignmentOptions options) {
  Linter(extracted, assignment, options).run();
}
