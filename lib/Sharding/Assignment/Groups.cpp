// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Moves.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;
using namespace shoal::assignment;

// Which ops are one group:
//
//        the op                                      its group
//   (G1) with a constraint, without results, a       none
//        contraction, or smaller than an operand
//   (G2) else                                        that of each other such op
//                                                    with which it shares a
//                                                    value of its result's
//                                                    shape
//
// (G2): the update of a parameter is one group, that of another parameter
// another one; what both read, such as the count of steps, is a scalar that is
// broadcast. Constants and broadcasts are of the group that reads them: each
// would be moved to where the others leave.

/// (G1) does not hold.
static bool followsItsResult(const AssignmentProblem &problem,
                             const AssignmentProblem::Op &op) {
  if (op.constraint || op.results.empty() ||
      op.priority == AssignmentProblem::Priority::Contraction)
    return false;
  int64_t size = numElements(problem, op.results[0]);
  return llvm::all_of(op.operands, [&](unsigned value) {
    return numElements(problem, value) <= size;
  });
}

/// The groups of more than one op, each in the order of ops.
static std::vector<std::vector<unsigned>>
findElementwiseGroups(const AssignmentProblem &problem) {
  constexpr unsigned kNone = ~0u;
  llvm::EquivalenceClasses<unsigned> joined;
  std::vector<unsigned> firstOf(problem.values.size(), kNone);
  for (auto [id, op] : llvm::enumerate(problem.ops)) {
    if (!followsItsResult(problem, op)) // (G1)
      continue;
    joined.insert(id);
    const auto &shape = problem.values[op.results[0]].shape;
    for (unsigned value :
         llvm::concat<const unsigned>(op.operands, op.results)) {
      if (problem.values[value].shape != shape)
        continue;
      if (firstOf[value] == kNone)
        firstOf[value] = id;
      joined.unionSets(firstOf[value], id); // (G2)
    }
  }
  llvm::MapVector<unsigned, std::vector<unsigned>> groups;
  for (unsigned op = 0; op < problem.ops.size(); ++op)
    if (joined.contains(op))
      groups[joined.getLeaderValue(op)].push_back(op);
  std::vector<std::vector<unsigned>> list;
  for (auto &[leader, ops] : groups)
    if (ops.size() > 1)
      list.push_back(std::move(ops));
  return list;
}

std::vector<Move>
assignment::findElementwiseMoves(const AssignmentProblem &problem) {
  std::vector<Move> moves;
  for (const std::vector<unsigned> &ops : findElementwiseGroups(problem)) {
    int rank = problem.values[problem.ops[ops[0]].results[0]].shape.size();
    for (int location = Partial; location < rank; ++location) {
      Move &move = moves.emplace_back();
      move.ops = ops;
      move.wants.assign(ops.size(), {Want::at(location)});
    }
  }
  return moves;
}
