// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Moves.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;
using namespace shoal::assignment;

namespace {
/// Finds the ops that lead to what a loop's join joins with, as far as they
/// have results of its size, maybe reshaped, or of rows of it that are read,
/// added to and written back, and pass partial sums on.
class AccumulatorWalk {
public:
  explicit AccumulatorWalk(const AssignmentProblem &problem)
      : problem(problem), valueOps(problem) {}
  /// The ops of the group of `join`; none where it adds to nothing.
  std::vector<unsigned> run(unsigned join) const;

private:
  bool mayPass(unsigned op) const;
  /// The ops that lead to what comes around the loop.
  llvm::SmallDenseSet<unsigned> findBehind(unsigned join) const;
  /// Whether the join's value passes through some of these.
  bool isAddedTo(unsigned join,
                 const llvm::SmallDenseSet<unsigned> &behind) const;

  const AssignmentProblem &problem;
  ValueOps valueOps;
};
} // namespace

bool AccumulatorWalk::mayPass(unsigned id) const {
  const AssignmentProblem::Op &op = problem.ops[id];
  // A product or a sum of one is what is added; rows that are read are not.
  bool isProduct = op.priority == AssignmentProblem::Priority::Contraction &&
                   (op.rule.linearIn.size() > 1 ||
                    llvm::any_of(op.rule.factors, [](const Factor &factor) {
                      return factor.reduction == ReduceKind::Sum;
                    }));
  return !op.constraint && !op.rule.linearIn.empty() && !isProduct;
}

llvm::SmallDenseSet<unsigned> AccumulatorWalk::findBehind(unsigned join) const {
  int64_t size = numElements(problem, problem.ops[join].results[0]);
  llvm::SmallDenseSet<unsigned> behind;
  llvm::SmallVector<unsigned> work;
  auto visit = [&](unsigned value) {
    unsigned maker = valueOps.makerOf[value];
    if (maker > join && numElements(problem, value) <= size && mayPass(maker) &&
        behind.insert(maker).second)
      work.push_back(maker);
  };
  llvm::for_each(problem.ops[join].operands, visit);
  while (!work.empty()) {
    const AssignmentProblem::Op &op = problem.ops[work.pop_back_val()];
    for (unsigned value : op.operands)
      if (findLinearSet(op, value))
        visit(value);
  }
  return behind;
}

bool AccumulatorWalk::isAddedTo(
    unsigned join, const llvm::SmallDenseSet<unsigned> &behind) const {
  llvm::SmallDenseSet<unsigned> seen;
  llvm::SmallVector<unsigned> work = {join};
  while (!work.empty())
    for (unsigned value : problem.ops[work.pop_back_val()].results)
      for (unsigned user : valueOps.usersOf[value]) {
        if (user == join)
          return true;
        if (behind.contains(user) && findLinearSet(problem.ops[user], value) &&
            seen.insert(user).second)
          work.push_back(user);
      }
  return false;
}

std::vector<unsigned> AccumulatorWalk::run(unsigned join) const {
  llvm::SmallDenseSet<unsigned> group = findBehind(join);
  if (group.empty() || !isAddedTo(join, group))
    return {};
  group.insert(join);
  for (unsigned value : problem.ops[join].operands)
    if (!problem.ops[valueOps.makerOf[value]].constraint)
      group.insert(valueOps.makerOf[value]);
  std::vector<unsigned> ops(group.begin(), group.end());
  llvm::sort(ops);
  return ops;
}

std::vector<Move>
assignment::findAccumulatorMoves(const AssignmentProblem &problem) {
  AccumulatorWalk walk(problem);
  std::vector<Move> moves;
  for (auto [id, op] : llvm::enumerate(problem.ops)) {
    if (op.operands.empty() || op.results.empty() || op.constraint)
      continue;
    Move move{walk.run(id), {}};
    if (move.ops.empty())
      continue;
    // Of what is whole addends can be made, of parts not.
    move.wants.assign(move.ops.size(), {Want::at(Partial), Want::at(Nowhere)});
    moves.push_back(std::move(move));
  }
  return moves;
}
