// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/Hints.h"
#include "shoal/Sharding/Assignment.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;

//===----------------------------------------------------------------------===//
// Axis order
//===----------------------------------------------------------------------===//

namespace {
/// Which axis goes before which, without cycles.
class AxisPrecedence {
public:
  explicit AxisPrecedence(size_t n) : before(n, std::vector<bool>(n)) {}

  void add(AxisId a, AxisId b) {
    if (a == b || before[b][a])
      return;
    for (size_t i = 0; i < before.size(); ++i)
      for (size_t j = 0; j < before.size(); ++j)
        if ((i == a || before[i][a]) && (j == b || before[b][j]))
          before[i][j] = true;
  }

  AxisList order() const {
    AxisList list;
    while (list.size() < before.size())
      for (AxisId axis = 0; axis < before.size(); ++axis)
        if (isNext(axis, list)) {
          list.push_back(axis);
          break;
        }
    return list;
  }

private:
  bool isNext(AxisId axis, const AxisList &done) const {
    if (llvm::is_contained(done, axis))
      return false;
    for (AxisId other = 0; other < before.size(); ++other)
      if (before[other][axis] && !llvm::is_contained(done, other))
        return false;
    return true;
  }

  std::vector<std::vector<bool>> before;
};
} // namespace

/// Of an axis that no annotation splits anything over the devices have slices
/// of what the others split; in front of these it would need an exchange.
AxisList shoal::preferredAxisOrder(const AssignmentProblem &problem) {
  size_t count = problem.mesh.axes.size();
  AxisPrecedence precedence(count);
  std::vector<bool> isNamed(count);
  for (const AssignmentProblem::Op &op : problem.ops) {
    if (op.boundary)
      for (const AxisList &axes : op.boundary->axes)
        for (AxisId axis : axes)
          isNamed[axis] = true;
    if (op.constraint)
      for (const DimConstraint &dim : op.constraint->dims)
        for (auto [i, axis] : llvm::enumerate(dim.axes)) {
          isNamed[axis] = true;
          if (i > 0)
            precedence.add(dim.axes[i - 1], axis);
        }
  }
  for (AxisId named = 0; named < count; ++named)
    for (AxisId other = 0; other < count; ++other)
      if (isNamed[named] && !isNamed[other])
        precedence.add(named, other);
  return precedence.order();
}

//===----------------------------------------------------------------------===//
// Hints
//===----------------------------------------------------------------------===//

Hints::Hints(const AssignmentProblem &problem, AxisList axisOrder)
    : axisOrder(std::move(axisOrder)) {
  for (const AssignmentProblem::Value &value : problem.values) {
    hints.emplace_back(problem.mesh.axes.size());
    ranks.push_back(value.shape.size());
  }
}

Sharding Hints::sharding(unsigned value) const {
  Sharding sharding = Sharding::replicated(ranks[value]);
  for (AxisId axis : axisOrder)
    if (at(value, axis).state == AxisHint::Split)
      sharding.dims[at(value, axis).dim].push_back(axis);
  return sharding;
}

void Hints::renumber(llvm::ArrayRef<unsigned> ops,
                     llvm::ArrayRef<unsigned> values) {
  auto oldHints = std::move(hints);
  auto oldRanks = std::move(ranks);
  hints.assign(values.size(), {});
  ranks.assign(values.size(), 0);
  for (auto [from, to] : llvm::enumerate(values)) {
    ranks[to] = oldRanks[from];
    hints[to] = std::move(oldHints[from]);
    for (AxisHint &hint : hints[to]) {
      if (hint.state == AxisHint::Unknown)
        continue;
      hint.annotation = ops[hint.annotation];
      hint.via = ops[hint.via];
      if (hint.from)
        hint.from = values[*hint.from];
    }
  }
}

llvm::SmallVector<unsigned> Hints::chain(unsigned value, AxisId axis) const {
  llvm::SmallVector<unsigned> ops;
  std::optional<unsigned> current = value;
  while (current && at(*current, axis).state != AxisHint::Unknown) {
    const AxisHint &hint = at(*current, axis);
    ops.push_back(hint.via);
    if (!hint.from && hint.via != hint.annotation)
      ops.push_back(hint.annotation);
    current = hint.from;
  }
  std::reverse(ops.begin(), ops.end());
  return ops;
}
