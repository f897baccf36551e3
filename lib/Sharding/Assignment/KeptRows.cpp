// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Moves.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace shoal;
using namespace shoal::assignment;

using Op = AssignmentProblem::Op;

namespace {
/// Collects the move of one array that a loop writes rows of: the op that joins
/// the array around the loop, the one that writes rows, those that it begins
/// with, those that read rows, and the reshapes of rows before and behind; then
/// the ops that read those.
class KeptRowsWalk {
public:
  KeptRowsWalk(const AssignmentProblem &problem, const ValueOps &valueOps)
      : problem(problem), valueOps(valueOps) {}
  /// Of the op that writes a row; no ops where the array is not carried.
  Move run(unsigned write);

private:
  std::optional<unsigned> findJoin(unsigned write) const;
  bool isReshape(unsigned op) const;
  void addBefore(unsigned value);
  void addReads(unsigned value);
  void addReaders(unsigned value);

  const AssignmentProblem &problem;
  const ValueOps &valueOps;
  llvm::SetVector<unsigned> rows, readers;
};
} // namespace

/// The op that takes what is written back to where it is written into.
std::optional<unsigned> KeptRowsWalk::findJoin(unsigned write) const {
  const Op &op = problem.ops[write];
  if (!op.rule.written || op.constraint)
    return std::nullopt;
  unsigned join = valueOps.makerOf[op.operands[0]];
  if (problem.ops[join].constraint ||
      !llvm::is_contained(problem.ops[join].operands, op.results[0]))
    return std::nullopt;
  return join;
}

/// Whether the op's result has its operand's elements in another shape.
bool KeptRowsWalk::isReshape(unsigned id) const {
  const Op &op = problem.ops[id];
  return !op.constraint && op.operands.size() == 1 && op.results.size() == 1 &&
         problem.values[op.operands[0]].shape !=
             problem.values[op.results[0]].shape &&
         numElements(problem, op.operands[0]) ==
             numElements(problem, op.results[0]);
}

void KeptRowsWalk::addBefore(unsigned value) {
  for (unsigned maker = valueOps.makerOf[value]; isReshape(maker);
       maker = valueOps.makerOf[problem.ops[maker].operands[0]])
    rows.insert(maker);
}

/// What is cut out of the array.
void KeptRowsWalk::addReads(unsigned value) {
  int64_t size = numElements(problem, value);
  for (unsigned user : valueOps.usersOf[value]) {
    const Op &op = problem.ops[user];
    if (op.constraint || op.results.size() != 1 || op.operands[0] != value ||
        op.rule.flops != 0 || numElements(problem, op.results[0]) >= size)
      continue;
    rows.insert(user);
    addReaders(op.results[0]);
  }
}

void KeptRowsWalk::addReaders(unsigned value) {
  for (unsigned user : valueOps.usersOf[value]) {
    if (isReshape(user)) {
      if (rows.insert(user))
        addReaders(problem.ops[user].results[0]);
    } else if (!problem.ops[user].constraint) {
      readers.insert(user);
    }
  }
}

Move KeptRowsWalk::run(unsigned write) {
  std::optional<unsigned> join = findJoin(write);
  if (!join)
    return {};
  const Op &op = problem.ops[write];
  rows.insert(*join);
  rows.insert(write);
  for (unsigned value : problem.ops[*join].operands) {
    unsigned maker = valueOps.makerOf[value];
    if (problem.ops[maker].operands.empty() && !problem.ops[maker].constraint)
      rows.insert(maker);
  }
  addBefore(op.operands[*op.rule.written]);
  for (unsigned value : problem.ops[*join].results)
    addReads(value);
  readers.remove_if([&](unsigned reader) { return rows.contains(reader); });
  Move move;
  llvm::append_range(move.ops, rows);
  move.wants.assign(rows.size(), {Want::at(Nowhere)});
  llvm::append_range(move.ops, readers);
  move.wants.resize(move.ops.size());
  return move;
}

std::vector<Move>
assignment::findKeptRowMoves(const AssignmentProblem &problem) {
  ValueOps valueOps(problem);
  std::vector<Move> moves;
  for (unsigned op = 0; op < problem.ops.size(); ++op) {
    Move move = KeptRowsWalk(problem, valueOps).run(op);
    if (!move.ops.empty())
      moves.push_back(std::move(move));
  }
  return moves;
}
