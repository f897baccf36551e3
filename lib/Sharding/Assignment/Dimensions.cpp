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
// sums over it, through loops and their gradients.

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

std::vector<DimensionGroup>
assignment::findDimensionGroups(const AssignmentProblem &problem) {
  DimensionClasses classes(problem);
  llvm::MapVector<unsigned, DimensionGroup> groups;
  for (auto [id, op] : llvm::enumerate(problem.ops))
    for (unsigned factor = 0; factor < op.rule.factors.size(); ++factor)
      if (std::optional<unsigned> number = classes.classOf(op, factor)) {
        DimensionGroup &group = groups[*number];
        if (group.ops.empty() || group.ops.back() != id) {
          group.ops.push_back(id);
          group.factors.emplace_back();
        }
        group.factors.back().push_back(factor);
      }
  std::vector<DimensionGroup> list;
  for (auto &[number, group] : groups)
    if (group.ops.size() > 1)
      list.push_back(std::move(group));
  return list;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// The cheapest choice that differs from the op's on the axis alone, which
/// splits one of the factors; nothing where the axis does so already.
static std::optional<ChoiceIndex>
findChoiceOfFactors(Plan &plan, unsigned op, AxisId axis,
                    llvm::ArrayRef<unsigned> factors) {
  const OpClass &opClass = plan.getTables().classOf(op);
  ChoiceIndex current = plan.choiceOf(op);
  auto splits = [&](ChoiceIndex index) {
    const Label &label = opClass.label(index, axis);
    return label.kind == Label::Factor &&
           llvm::is_contained(factors, label.index);
  };
  if (splits(current))
    return std::nullopt;
  std::optional<ChoiceIndex> best;
  double least = 0;
  for (unsigned label = 0; label < opClass.numLabels(axis); ++label) {
    ChoiceIndex index = opClass.withLabel(current, axis, label);
    if (!splits(index))
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
  for (const DimensionGroup &group : groups) {
    GroupMove moves(plan, group.ops);
    if (!moves.couldGain())
      continue;
    for (AxisId axis = 0; axis < plan.getTables().problem.mesh.axes.size();
         ++axis)
      gain += moves.run([&](size_t place) {
        return findChoiceOfFactors(plan, group.ops[place], axis,
                                   group.factors[place]);
      });
  }
  LDBG() << "  dimensions gain " << llvm::format("%.0f", gain);
  return gain;
}
