// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GroupMove.h"
#include "Search.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/Format.h"

#define DEBUG_TYPE "shoal-assign"

using namespace shoal;
using namespace shoal::assignment;

using Op = AssignmentProblem::Op;

namespace {
/// Collects the group of one array that a loop writes rows of.
class KeptRowsWalk {
public:
  KeptRowsWalk(const AssignmentProblem &problem, const ValueOps &valueOps)
      : problem(problem), valueOps(valueOps) {}
  /// Of the op that writes a row; no ops where the array is not carried.
  KeptRows run(unsigned write);

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

KeptRows KeptRowsWalk::run(unsigned write) {
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
  KeptRows group;
  group.numRows = rows.size();
  readers.remove_if([&](unsigned reader) { return rows.contains(reader); });
  llvm::append_range(group.ops, rows);
  llvm::append_range(group.ops, readers);
  return group;
}

std::vector<KeptRows>
assignment::findKeptRows(const AssignmentProblem &problem) {
  ValueOps valueOps(problem);
  std::vector<KeptRows> groups;
  for (unsigned op = 0; op < problem.ops.size(); ++op) {
    KeptRows group = KeptRowsWalk(problem, valueOps).run(op);
    if (!group.ops.empty())
      groups.push_back(std::move(group));
  }
  return groups;
}

double assignment::moveKeptRows(Plan &plan, llvm::ArrayRef<KeptRows> groups) {
  double gain = 0;
  for (auto [number, group] : llvm::enumerate(groups)) {
    GroupMove moves(plan, group.ops);
    if (!moves.couldGain())
      continue;
    for (AxisId axis = 0; axis < plan.getTables().problem.mesh.axes.size();
         ++axis)
      gain += moves.run(
          {TryId::KeptRows, unsigned(number), axis},
          [&, &own = group](size_t place) -> std::optional<ChoiceIndex> {
            if (place >= own.numRows)
              return std::nullopt;
            return findChoiceAt(plan, own.ops[place], axis, Nowhere);
          });
  }
  LDBG() << "  kept rows gain " << llvm::format("%.0f", gain);
  return gain;
}
