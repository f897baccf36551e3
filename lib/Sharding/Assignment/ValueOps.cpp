// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ValueOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace shoal;
using namespace shoal::assignment;

ValueOps::ValueOps(const AssignmentProblem &problem)
    : makerOf(problem.values.size()), usersOf(problem.values.size()) {
  for (auto [id, op] : llvm::enumerate(problem.ops)) {
    for (unsigned value : op.results)
      makerOf[value] = id;
    for (unsigned value : op.operands)
      usersOf[value].push_back(id);
  }
}

int64_t assignment::numElements(const AssignmentProblem &problem,
                                unsigned value) {
  int64_t count = 1;
  for (int64_t size : problem.values[value].shape)
    count *= size;
  return count;
}

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
