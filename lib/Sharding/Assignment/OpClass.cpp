// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../SplitParts.h"
#include "CostTables.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;
using namespace shoal::assignment;

using Problem = AssignmentProblem;

//===----------------------------------------------------------------------===//
// Labels
//===----------------------------------------------------------------------===//
//
// What an axis of `size` devices may do for an op:
//
//        the axis, or the factor                       label
//   (L1) any                                           None
//   (L2) of one device, or manual around the op        no other
//   (L3) a factor that needs whole rows, or even       none for that factor
//        shards and `size` does not divide it, or
//        that nowhere has as many rows as `size`
//        (rowsOfFactor) unless an annotation asked
//        for such a split
//   (L4) a dimension of a constraint that is closed,   none for that dimension
//        or anywhere if the constraint names the axis,
//        as one that splits or that addends lie along
//   (L5) another factor                                Factor: splits it
//   (L6) a linear set of operands of an op that is     Pass: they are partial
//        no constraint                                 sums, and so the results
//
// So for  einsum "GSM,ME->GSE"  with G=8 S=64 M=32 E=8 and "x" of 8: None,
// Factor G, S, M, E, and Pass for either operand. For a slice that keeps 2 rows
// of 4096: the factor of those 2 too, as each device reads its part of the 4096
// and fetches, or leaves, the rest; the others get empty shards of the result.

/// For each factor the rows of the longest dimension that it splits: more than
/// its own where a window reads fewer rows than there are.
static llvm::SmallVector<int64_t> rowsOfFactors(const Problem &problem,
                                                const Problem::Op &op) {
  llvm::SmallVector<int64_t> rows;
  for (const Factor &factor : op.rule.factors)
    rows.push_back(factor.size);
  for (const FactorRule::Window &window : op.rule.windows) {
    // Where a dimension has several factors its rows are those of all of them.
    const auto &factors = op.rule.operands[window.operand][window.dim];
    if (factors.size() != 1 ||
        op.rule.factors[factors[0]].kind != FactorKind::Parallel)
      continue;
    const Problem::Value &operand = problem.values[op.operands[window.operand]];
    rows[factors[0]] = std::max(rows[factors[0]], operand.shape[window.dim]);
  }
  return rows;
}

OpClass::OpClass(const Problem &problem, const Problem::Op &op,
                 bool emptyShards, std::vector<AxisList> axisOrders,
                 const AxisList &hinted)
    : op(op), emptyShards(emptyShards),
      rowsOfFactor(rowsOfFactors(problem, op)),
      axisOrders(std::move(axisOrders)) {
  size_t numAxes = problem.mesh.axes.size();
  labels.resize(numAxes);
  strides.resize(numAxes);
  for (AxisId axis = numAxes; axis-- > 0;) {
    addLabels(problem, axis);
    strides[axis] = total;
    total *= labels[axis].size();
    bool canSplit = llvm::any_of(labels[axis], [](const Label &label) {
      return label.kind == Label::Factor;
    });
    if (canSplit && !op.constraint && llvm::is_contained(hinted, axis))
      hintedDevices *= problem.mesh.axes[axis].size;
  }
  addPlaces(problem);
  total *= this->axisOrders.size();
}

/// An operand, or a result behind them.
static const DimFactors &dimsOf(const Problem::Op &op, size_t place) {
  size_t operands = op.operands.size();
  return place < operands ? op.rule.operands[place]
                          : op.rule.results[place - operands];
}

/// Whether the layout at a place hangs on the label.
bool OpClass::isSeen(size_t place, const Label &label) const {
  if (label.kind == Label::None || op.constraint)
    return label.kind != Label::None;
  bool isResult = place >= op.operands.size();
  if (label.kind == Label::Pass)
    return isResult || llvm::is_contained(op.rule.linearIn[label.index], place);
  return (isResult && isSum(op.rule.factors[label.index])) ||
         llvm::any_of(dimsOf(op, place), [&](const auto &dim) {
           return llvm::is_contained(dim, label.index);
         });
}

/// The operands of an elementwise op, and its result, are one place.
void OpClass::addPlaces(const Problem &problem) {
  auto values =
      llvm::to_vector(llvm::concat<const unsigned>(op.operands, op.results));
  for (size_t i = 0; i < values.size(); ++i) {
    ChoicePlace::Seen seen;
    for (auto [own, stride] : llvm::zip_equal(labels, strides)) {
      auto &ofAxis = seen.emplace_back(own.size(), 0);
      for (auto [number, label] : llvm::enumerate(own))
        if (isSeen(i, label))
          ofAxis[number] = number * stride;
    }
    auto isAlike = [&](size_t other) {
      const Problem::Value &a = problem.values[values[i]];
      const Problem::Value &b = problem.values[values[other]];
      return !op.boundary && places[placeOf[other]].seen == seen &&
             dimsOf(op, i) == dimsOf(op, other) && a.shape == b.shape &&
             a.elementBytes == b.elementBytes;
    };
    size_t other = 0;
    while (other < i && !isAlike(other))
      ++other;
    placeOf.push_back(other < i ? placeOf[other] : places.size());
    if (other == i)
      places.emplace_back().seen = std::move(seen);
  }
}

OpClass::LabelNumbers OpClass::labelNumbers(ChoiceIndex index) const {
  LabelNumbers numbers;
  for (AxisId axis = 0; axis < labels.size(); ++axis)
    numbers.push_back(labelNumber(index, axis));
  return numbers;
}

/// (L4) does not hold.
bool OpClass::constraintAllows(AxisId axis, unsigned dim) const {
  const ShardingConstraint &constraint = *op.constraint;
  if (!constraint.dims[dim].open ||
      llvm::is_contained(constraint.replicated, axis) ||
      llvm::is_contained(constraint.partial, axis))
    return false;
  return llvm::none_of(constraint.dims, [&](const DimConstraint &other) {
    return llvm::is_contained(other.axes, axis);
  });
}

/// (L3) does not hold.
bool OpClass::suits(unsigned f, int64_t size) const {
  const Factor &factor = op.rule.factors[f];
  return factor.kind != FactorKind::Replicated &&
         (!factor.needsEvenSplit || factor.size % size == 0) &&
         (rowsOfFactor[f] >= size || emptyShards);
}

void OpClass::addLabels(const Problem &problem, AxisId axis) {
  labels[axis].push_back({Label::None, 0}); // (L1)
  int64_t size = problem.mesh.axes[axis].size;
  if (size == 1 || llvm::is_contained(op.manualAxes, axis)) // (L2)
    return;
  for (unsigned f = 0; f < op.rule.factors.size(); ++f) {
    // The factors of a constraint's rule are the dimensions.
    bool isAllowed = !op.constraint || constraintAllows(axis, f);
    if (suits(f, size) && isAllowed)
      labels[axis].push_back({Label::Factor, f}); // (L5)
  }
  if (op.constraint || op.operands.empty() || op.results.empty())
    return;
  for (unsigned set = 0; set < op.rule.linearIn.size(); ++set)
    labels[axis].push_back({Label::Pass, set}); // (L6)
}

//===----------------------------------------------------------------------===//
// Orders of axes
//===----------------------------------------------------------------------===//
//
// All of a dimension's axes stand in the preferred order, which the program's
// annotations agree on as far as they can. A program result without annotation
// takes its value as it is, which may be in another order:
//
//        what makes the value                  further orders for the result
//   (O1) an annotation                         that of its axes
//   (O2) the end of a region for one device    the manual axes of a dimension
//                                              before the annotation's
//   (O3) an op that has several factors in a   each axis in front of the others
//        dimension of the value, as where a
//        reshape merges [{"x"}, {"y"}]

/// `first`, then the others as they were.
static AxisList moveToFront(llvm::ArrayRef<AxisId> first, AxisList order) {
  llvm::erase_if(order,
                 [&](AxisId axis) { return llvm::is_contained(first, axis); });
  order.insert(order.begin(), first.begin(), first.end());
  return order;
}

/// (O1), (O2)
static AxisList axesAsWritten(const Problem::Op &annotation) {
  AxisList axes;
  for (auto [d, dim] : llvm::enumerate(annotation.constraint->dims)) {
    if (annotation.boundary && !annotation.boundary->isEntry)
      llvm::append_range(axes, annotation.boundary->axes[d]);
    llvm::append_range(axes, dim.axes);
  }
  return axes;
}

/// (O3)
static bool mergesFactors(const Problem::Op &maker, unsigned value) {
  size_t result = llvm::find(maker.results, value) - maker.results.begin();
  return llvm::any_of(maker.rule.results[result],
                      [](const auto &dim) { return dim.size() > 1; });
}

std::vector<AxisList> assignment::axisOrdersOf(const Problem::Op &op,
                                               const Problem::Op *maker,
                                               const AxisList &preferred) {
  std::vector<AxisList> orders = {preferred};
  bool isFreeResult = maker && op.results.empty() && !op.constraint;
  if (!isFreeResult)
    return orders;
  auto add = [&](llvm::ArrayRef<AxisId> first) {
    AxisList order = moveToFront(first, preferred);
    if (!llvm::is_contained(orders, order))
      orders.push_back(std::move(order));
  };
  if (maker->constraint)
    add(axesAsWritten(*maker));
  else if (mergesFactors(*maker, op.operands[0]))
    for (AxisId axis : preferred)
      add(axis);
  return orders;
}
