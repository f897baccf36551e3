// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Moves.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

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
// Moves
//===----------------------------------------------------------------------===//

namespace {
/// Collects the ops that have dimensions of one class or, behind a sum over
/// one, pass partial sums on, and the labels by which an axis does that.
class MoveBuilder {
public:
  MoveBuilder(const AssignmentProblem &problem, const ValueOps &valueOps)
      : problem(problem), valueOps(valueOps) {}
  void addFactor(unsigned op, unsigned factor) {
    labels[op].push_back({Label::Factor, factor});
  }
  /// Its ops ascend.
  Move finish();

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

/// The op's results are partial sums: so are those of their users, unless one
/// of these needs the sum.
void MoveBuilder::follow(unsigned op) {
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

void MoveBuilder::pass(unsigned op, unsigned set) {
  if (labels.contains(op))
    return;
  labels[op].push_back({Label::Pass, set});
  work.push_back(op);
}

/// What sums of a loop begin with, such as zeros in front of it, is whole on
/// each device: of parts no addends can be made.
void MoveBuilder::addConstants() {
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

Move MoveBuilder::finish() {
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
  Move move;
  for (auto &[op, own] : all) {
    move.ops.push_back(op);
    move.wants.push_back({Want::label(std::move(own))});
  }
  return move;
}

std::vector<Move>
assignment::findDimensionMoves(const AssignmentProblem &problem) {
  ValueOps valueOps(problem);
  DimensionClasses classes(problem);
  llvm::MapVector<unsigned, MoveBuilder> builders;
  for (auto [id, op] : llvm::enumerate(problem.ops))
    for (unsigned factor = 0; factor < op.rule.factors.size(); ++factor)
      if (std::optional<unsigned> number = classes.classOf(op, factor))
        builders.try_emplace(*number, problem, valueOps)
            .first->second.addFactor(id, factor);
  std::vector<Move> moves;
  for (auto &[number, builder] : builders) {
    Move move = builder.finish();
    if (move.ops.size() > 1)
      moves.push_back(std::move(move));
  }
  return moves;
}
