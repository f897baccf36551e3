// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/Propagation.h"
#include "shoal/Sharding/CanonicalOrder.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace shoal;

using Problem = AssignmentProblem;

namespace {
/// An operand or result of an op.
struct Place {
  unsigned value;
  const DimFactors *dims;
};

/// A factor that one of the op's values has an axis on.
struct Suggestion {
  unsigned factor;
  unsigned annotation;
  std::optional<unsigned> from;
};
} // namespace

namespace shoal {
class Propagation {
public:
  Propagation(const Problem &problem, Hints &hints);
  void run();

private:
  void seed(unsigned opId, int64_t priority);
  void seedManualAxes(unsigned opId);
  void closeDims(unsigned opId);
  void runToFixpoint(Problem::Priority last);
  bool step(unsigned opId, AxisId axis);
  std::optional<Suggestion> suggest(unsigned opId, AxisId axis) const;
  bool write(const Place &place, AxisId axis, unsigned opId,
             const Suggestion &suggestion);
  /// The factor of `dims[dim]` that `axis` splits on `value`: the first that
  /// the axes before it leave rows of.
  unsigned factorOf(const Place &place, unsigned dim, AxisId axis,
                    const FactorRule &rule) const;
  /// Shards over the axes known to split a dimension of a value.
  /// A boundary's op sees no shards over manual axes.
  int64_t shardsOf(unsigned value, unsigned dim, const Problem::Op &op) const;
  llvm::SmallVector<Place, 4> placesOf(const Problem::Op &op) const;

  const Problem &problem;
  Hints &hints;
  /// For each value, dimensions that an annotation keeps as they are.
  std::vector<llvm::SmallVector<bool, 4>> closed;
  /// The highest user priority that takes part.
  int64_t priority = 0;
};
} // namespace shoal

Propagation::Propagation(const Problem &problem, Hints &hints)
    : problem(problem), hints(hints) {
  for (const Problem::Value &value : problem.values)
    closed.emplace_back(value.shape.size(), false);
}

llvm::SmallVector<Place, 4> Propagation::placesOf(const Problem::Op &op) const {
  llvm::SmallVector<Place, 4> places;
  for (auto [value, dims] : llvm::zip_equal(op.operands, op.rule.operands))
    places.push_back({value, &dims});
  for (auto [value, dims] : llvm::zip_equal(op.results, op.rule.results))
    places.push_back({value, &dims});
  return places;
}

int64_t Propagation::shardsOf(unsigned value, unsigned dim,
                              const Problem::Op &op) const {
  int64_t shards = 1;
  for (auto [axis, hint] : llvm::enumerate(hints.hints[value]))
    if (hint.state == AxisHint::Split && hint.dim == dim &&
        !llvm::is_contained(op.manualAxes, axis))
      shards *= problem.mesh.axes[axis].size;
  return shards;
}

unsigned Propagation::factorOf(const Place &place, unsigned dim, AxisId axis,
                               const FactorRule &rule) const {
  llvm::ArrayRef<unsigned> factors = (*place.dims)[dim];
  int64_t before = 1;
  // A name of its own: a range over a part of a temporary would outlive it.
  Sharding sharding = hints.sharding(place.value);
  for (AxisId other : sharding.dims[dim]) {
    if (other == axis)
      break;
    before *= problem.mesh.axes[other].size;
  }
  int64_t rows = 1;
  for (unsigned factor : factors) {
    rows *= rule.factors[factor].size;
    if (before < rows)
      return factor;
  }
  return factors.back();
}

/// Writes the axes of `priority` of an annotation to its result.
void Propagation::seed(unsigned opId, int64_t priority) {
  const Problem::Op &op = problem.ops[opId];
  if (op.results.empty())
    return;
  for (auto [d, dim] : llvm::enumerate(op.constraint->dims))
    if (dim.priority == priority)
      for (AxisId axis : dim.axes)
        hints.hints[op.results[0]][axis] = {AxisHint::Split, unsigned(d), opId,
                                            opId, std::nullopt};
}

/// Writes the manual axes of a boundary to the value outside.
void Propagation::seedManualAxes(unsigned opId) {
  const Problem::Op &op = problem.ops[opId];
  unsigned value = op.boundary->isEntry ? op.operands[0] : op.results[0];
  for (auto [d, axes] : llvm::enumerate(op.boundary->axes))
    for (AxisId axis : axes) {
      AxisHint &hint = hints.hints[value][axis];
      if (hint.state == AxisHint::Unknown || !op.boundary->isEntry)
        hint = {AxisHint::Split, unsigned(d), opId, opId, std::nullopt};
    }
}

/// Marks what an annotation keeps axes away from.
void Propagation::closeDims(unsigned opId) {
  const Problem::Op &op = problem.ops[opId];
  if (op.results.empty())
    return;
  unsigned value = op.results[0];
  bool anyOpen = false;
  for (auto [d, dim] : llvm::enumerate(op.constraint->dims)) {
    closed[value][d] = !dim.open;
    anyOpen |= dim.open;
  }
  for (AxisId axis = 0; axis < problem.mesh.axes.size(); ++axis) {
    bool isNamed = llvm::any_of(op.constraint->dims, [&](auto &dim) {
      return llvm::is_contained(dim.axes, axis);
    });
    if (!isNamed &&
        (!anyOpen || llvm::is_contained(op.constraint->replicated, axis) ||
         llvm::is_contained(op.constraint->partial, axis)))
      hints.hints[value][axis] = {AxisHint::Unsplit, 0, opId, opId,
                                  std::nullopt};
  }
}

std::optional<Suggestion> Propagation::suggest(unsigned opId,
                                               AxisId axis) const {
  const Problem::Op &op = problem.ops[opId];
  llvm::SmallVector<Suggestion, 4> all;
  for (const Place &place : placesOf(op)) {
    const AxisHint &hint = hints.at(place.value, axis);
    if (hint.state != AxisHint::Split || (*place.dims)[hint.dim].empty())
      continue;
    unsigned factor = factorOf(place, hint.dim, axis, op.rule);
    all.push_back({factor, hint.annotation, place.value});
  }
  // A program result has no value of its own that could carry its constraint.
  if (op.constraint && op.results.empty())
    for (auto [d, dim] : llvm::enumerate(op.constraint->dims))
      if (dim.priority <= priority && llvm::is_contained(dim.axes, axis) &&
          !op.rule.operands[0][d].empty())
        all.push_back({op.rule.operands[0][d][0], opId, std::nullopt});
  std::optional<Suggestion> best;
  size_t votes = 0;
  for (const Suggestion &suggestion : all) {
    size_t own = llvm::count_if(all, [&](const Suggestion &other) {
      return other.factor == suggestion.factor;
    });
    if (own > votes)
      best = suggestion, votes = own;
  }
  return best;
}

bool Propagation::write(const Place &place, AxisId axis, unsigned opId,
                        const Suggestion &suggestion) {
  AxisHint &hint = hints.hints[place.value][axis];
  if (hint.state != AxisHint::Unknown)
    return false;
  const Problem::Op &op = problem.ops[opId];
  const FactorRule &rule = op.rule;
  for (auto [d, factors] : llvm::enumerate(*place.dims)) {
    int64_t rowsBefore = 1;
    for (unsigned factor : factors) {
      int64_t rows = rowsBefore * rule.factors[factor].size;
      if (factor == suggestion.factor) {
        int64_t before = shardsOf(place.value, d, op);
        int64_t after = before * problem.mesh.axes[axis].size;
        if (closed[place.value][d] || before < rowsBefore || after > rows ||
            (rule.factors[factor].needsEvenSplit && rows % after != 0))
          return false;
        hint = {AxisHint::Split, unsigned(d), suggestion.annotation, opId,
                suggestion.from};
        return true;
      }
      rowsBefore = rows;
    }
  }
  return false;
}

bool Propagation::step(unsigned opId, AxisId axis) {
  const Problem::Op &op = problem.ops[opId];
  if (llvm::is_contained(op.manualAxes, axis))
    return false;
  std::optional<Suggestion> suggestion = suggest(opId, axis);
  if (!suggestion ||
      op.rule.factors[suggestion->factor].kind == FactorKind::Replicated)
    return false;
  bool changed = false;
  for (const Place &place : placesOf(op))
    changed |= write(place, axis, opId, *suggestion);
  return changed;
}

void Propagation::runToFixpoint(Problem::Priority last) {
  auto visit = [&](unsigned opId) {
    bool changed = false;
    if (problem.ops[opId].priority <= last)
      for (AxisId axis = 0; axis < problem.mesh.axes.size(); ++axis)
        changed |= step(opId, axis);
    return changed;
  };
  // Finite: each axis of each value is written once.
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned opId = 0; opId < problem.ops.size(); ++opId)
      changed |= visit(opId);
    for (unsigned opId = problem.ops.size(); opId-- > 0;)
      changed |= visit(opId);
  }
}

void Propagation::run() {
  std::set<int64_t> priorities = {0};
  for (auto [opId, op] : llvm::enumerate(problem.ops)) {
    if (!op.constraint)
      continue;
    closeDims(opId);
    if (op.boundary)
      seedManualAxes(opId);
    for (const DimConstraint &dim : op.constraint->dims)
      priorities.insert(dim.priority);
  }
  for (int64_t round : priorities) {
    priority = round;
    for (auto [opId, op] : llvm::enumerate(problem.ops))
      if (op.constraint)
        seed(opId, round);
    for (auto last :
         {Problem::Priority::PassThrough, Problem::Priority::Restructuring,
          Problem::Priority::Contraction})
      runToFixpoint(last);
  }
}

Hints shoal::propagateInOrder(const Problem &problem) {
  Hints hints(problem, preferredAxisOrder(problem));
  Propagation(problem, hints).run();
  return hints;
}

Hints shoal::propagateHints(const Problem &problem) {
  ReorderedProblem canonical(problem, canonicalOrder(problem));
  Hints hints = propagateInOrder(canonical.problem);
  hints.renumber(canonical.ops, canonical.values);
  return hints;
}
