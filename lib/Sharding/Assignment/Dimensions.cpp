// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GroupMove.h"
#include "Search.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/Format.h"

#define DEBUG_TYPE "shoal-assign"

using namespace shoal;
using namespace shoal::assignment;

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

// Dimensions of values are one where a factor of an op's rule is in both: the
// hidden dimension of a layer, from the weight that makes it to the one that
// sums over it, through loops and their reversals.

namespace {
/// The dimensions of all values, in classes.
class DimensionClasses {
public:
  explicit DimensionClasses(const AssignmentProblem &problem);
  /// A number of the class of the factor's dimensions; nothing where it stands
  /// in none.
  std::optional<unsigned> classOf(const AssignmentProblem::Op &op,
                                  unsigned factor) const;

private:
  template <typename Visit>
  void forEachDim(const AssignmentProblem::Op &op, Visit visit) const;

  /// Of each value the number of its first dimension.
  std::vector<unsigned> firstDims;
  llvm::IntEqClasses classes;
};
} // namespace

/// Calls visit(factor, dim) for all dimensions of the op's values.
template <typename Visit>
void DimensionClasses::forEachDim(const AssignmentProblem::Op &op,
                                  Visit visit) const {
  auto visitAll = [&](llvm::ArrayRef<unsigned> values,
                      llvm::ArrayRef<DimFactors> dims) {
    for (auto [value, factorsOfDims] : llvm::zip_equal(values, dims))
      for (auto [dim, factors] : llvm::enumerate(factorsOfDims))
        for (unsigned factor : factors)
          visit(factor, firstDims[value] + dim);
  };
  visitAll(op.operands, op.rule.operands);
  visitAll(op.results, op.rule.results);
}

DimensionClasses::DimensionClasses(const AssignmentProblem &problem) {
  unsigned count = 0;
  for (const auto &value : problem.values) {
    firstDims.push_back(count);
    count += value.shape.size();
  }
  classes.grow(count);
  for (const AssignmentProblem::Op &op : problem.ops) {
    std::vector<std::optional<unsigned>> first(op.rule.factors.size());
    forEachDim(op, [&](unsigned factor, unsigned dim) {
      if (first[factor])
        classes.join(*first[factor], dim);
      else
        first[factor] = dim;
    });
  }
  classes.compress();
}

std::optional<unsigned>
DimensionClasses::classOf(const AssignmentProblem::Op &op,
                          unsigned wanted) const {
  std::optional<unsigned> found;
  forEachDim(op, [&](unsigned factor, unsigned dim) {
    if (factor == wanted)
      found = classes[dim];
  });
  return found;
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

namespace {
/// Collects the group of one class.
class GroupBuilder {
public:
  GroupBuilder(const AssignmentProblem &problem, const ValueOps &valueOps)
      : problem(problem), valueOps(valueOps) {}
  void addFactor(unsigned op, unsigned factor) {
    labels[op].push_back({Label::Factor, factor});
  }
  DimensionGroup finish();

private:
  void follow(unsigned op);
  void pass(unsigned op, unsigned set);
  void addConstants();

  const AssignmentProblem &problem;
  const ValueOps &valueOps;
  llvm::MapVector<unsigned, llvm::SmallVector<Label, 1>> labels;
  llvm::SmallVector<unsigned> work;
};
} // namespace

std::optional<unsigned>
assignment::findLinearSet(const AssignmentProblem::Op &op, unsigned value) {
  for (auto [number, set] : llvm::enumerate(op.rule.linearIn)) {
    auto reads = [&](unsigned operand) {
      return op.operands[operand] == value;
    };
    if (llvm::any_of(set, reads) &&
        llvm::count_if(set, reads) == llvm::count(op.operands, value))
      return number;
  }
  return std::nullopt;
}

/// The op's results are partial sums: so are those of their users, unless one
/// of these needs the sum.
void GroupBuilder::follow(unsigned op) {
  for (unsigned value : problem.ops[op].results) {
    llvm::SmallVector<std::pair<unsigned, unsigned>> sets; // by user
    for (unsigned user : valueOps.usersOf[value])
      if (auto set = findLinearSet(problem.ops[user], value))
        sets.emplace_back(user, *set);
    if (sets.size() < valueOps.usersOf[value].size())
      continue;
    for (auto [user, set] : sets)
      pass(user, set);
  }
}

void GroupBuilder::pass(unsigned op, unsigned set) {
  if (labels.contains(op))
    return;
  labels[op].push_back({Label::Pass, set});
  work.push_back(op);
}

/// What sums of a loop begin with, such as zeros in front of it, is whole on
/// each device: of parts no addends can be made.
void GroupBuilder::addConstants() {
  llvm::SmallVector<unsigned> constants;
  for (auto &[id, own] : labels) {
    const AssignmentProblem::Op &op = problem.ops[id];
    bool passes = llvm::any_of(
        own, [](const Label &label) { return label.kind == Label::Pass; });
    bool joins = llvm::any_of(op.operands, [&, id = id](unsigned value) {
      return valueOps.makerOf[value] > id;
    });
    if (!passes || !joins)
      continue;
    for (unsigned value : op.operands) {
      unsigned maker = valueOps.makerOf[value];
      if (problem.ops[maker].operands.empty() && !problem.ops[maker].constraint)
        constants.push_back(maker);
    }
  }
  for (unsigned constant : constants)
    if (!labels.contains(constant))
      labels[constant].push_back({Label::None, 0});
}

DimensionGroup GroupBuilder::finish() {
  for (auto &[op, own] : labels)
    if (llvm::any_of(own, [&, &factors = problem.ops[op].rule.factors](
                              const Label &label) {
          return factors[label.index].reduction == ReduceKind::Sum;
        }))
      work.push_back(op);
  while (!work.empty())
    follow(work.pop_back_val());
  addConstants();
  auto all = labels.takeVector();
  llvm::sort(all, llvm::less_first());
  DimensionGroup group;
  for (auto &[op, own] : all) {
    group.ops.push_back(op);
    group.labels.push_back(std::move(own));
  }
  return group;
}

std::vector<DimensionGroup>
assignment::findDimensionGroups(const AssignmentProblem &problem) {
  ValueOps valueOps(problem);
  DimensionClasses classes(problem);
  llvm::MapVector<unsigned, GroupBuilder> builders;
  for (auto [id, op] : llvm::enumerate(problem.ops))
    for (unsigned factor = 0; factor < op.rule.factors.size(); ++factor)
      if (std::optional<unsigned> number = classes.classOf(op, factor))
        builders.try_emplace(*number, problem, valueOps)
            .first->second.addFactor(id, factor);
  std::vector<DimensionGroup> groups;
  for (auto &[number, builder] : builders) {
    DimensionGroup group = builder.finish();
    if (group.ops.size() > 1)
      groups.push_back(std::move(group));
  }
  return groups;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// The cheapest choice that differs from the op's on the axis alone, which has
/// one of the labels there; nothing where the op's own has.
static std::optional<ChoiceIndex> findChoiceOf(Plan &plan, unsigned op,
                                               AxisId axis,
                                               llvm::ArrayRef<Label> wanted) {
  const OpClass &opClass = plan.getTables().classOf(op);
  ChoiceIndex current = plan.choiceOf(op);
  auto isWanted = [&](ChoiceIndex index) {
    return llvm::is_contained(wanted, opClass.label(index, axis));
  };
  if (isWanted(current))
    return std::nullopt;
  std::optional<ChoiceIndex> best;
  double least = 0;
  for (unsigned label = 0; label < opClass.numLabels(axis); ++label) {
    ChoiceIndex index = opClass.withLabel(current, axis, label);
    if (!isWanted(index))
      continue;
    std::optional<double> change = plan.costChange(op, index);
    if (change && (!best || *change < least))
      best = index, least = *change;
  }
  return best;
}

double assignment::moveDimensions(Plan &plan,
                                  llvm::ArrayRef<DimensionGroup> groups) {
  double gain = 0;
  for (auto [number, group] : llvm::enumerate(groups)) {
    GroupMove moves(plan, group.ops);
    if (!moves.couldGain())
      continue;
    for (AxisId axis = 0; axis < plan.getTables().problem.mesh.axes.size();
         ++axis)
      gain += moves.run({TryId::Dimension, unsigned(number), axis},
                        [&, &own = group](size_t place) {
                          return findChoiceOf(plan, own.ops[place], axis,
                                              own.labels[place]);
                        });
  }
  LDBG() << "  dimensions gain " << llvm::format("%.0f", gain);
  return gain;
}
