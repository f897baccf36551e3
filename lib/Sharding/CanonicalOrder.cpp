// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/CanonicalOrder.h"
#include <cassert>
#include <optional>

using namespace shoal;

namespace {

/// The depth-first walk.
class Walk {
public:
  explicit Walk(const AssignmentProblem &problem)
      : problem(problem), makers(problem.values.size()),
        isSeen(problem.ops.size()) {
    for (unsigned op = 0; op < problem.ops.size(); ++op)
      for (unsigned value : problem.ops[op].results)
        makers[value] = op;
  }

  std::vector<unsigned> run() {
    for (unsigned op = 0; op < problem.ops.size(); ++op)
      if (problem.ops[op].results.empty())
        walkFromRoot(op);
    for (unsigned op = 0; op < problem.ops.size(); ++op)
      walkFromRoot(op);
    return std::move(order);
  }

private:
  void walkFromRoot(unsigned root) {
    walkFrom(root);
    // NOLINTNEXTLINE(modernize-loop-convert): the list grows in the loop.
    for (size_t i = 0; i < later.size(); ++i)
      walkFrom(later[i]);
    later.clear();
  }

  void walkFrom(unsigned start) {
    if (isSeen[start])
      return;
    isSeen[start] = true;
    // Ops being walked, each with the operand to go to next.
    std::vector<std::pair<unsigned, unsigned>> stack = {{start, 0}};
    while (!stack.empty()) {
      auto &[op, next] = stack.back();
      if (next == problem.ops[op].operands.size()) {
        order.push_back(op);
        stack.pop_back();
        continue;
      }
      unsigned maker = makers[problem.ops[op].operands[next++]];
      if (isSeen[maker])
        continue;
      if (maker > op) {
        later.push_back(maker);
        continue;
      }
      isSeen[maker] = true;
      stack.emplace_back(maker, 0);
    }
  }

  const AssignmentProblem &problem;
  /// The op that makes each value.
  std::vector<unsigned> makers;
  std::vector<bool> isSeen;
  std::vector<unsigned> order, later;
};

} // namespace

std::vector<unsigned> shoal::canonicalOrder(const AssignmentProblem &problem) {
  return Walk(problem).run();
}

ReorderedProblem::ReorderedProblem(const AssignmentProblem &original,
                                   std::vector<unsigned> order)
    : ops(std::move(order)) {
  assert(ops.size() == original.ops.size() && "every op is listed once");
  problem.mesh = original.mesh;
  problem.deviceOrders = original.deviceOrders;
  std::vector<unsigned> ids(original.values.size());
  for (unsigned op : ops)
    for (unsigned value : original.ops[op].results) {
      ids[value] = values.size();
      values.push_back(value);
      problem.values.push_back(original.values[value]);
    }
  assert(values.size() == original.values.size() && "an op makes each value");
  for (unsigned op : ops) {
    AssignmentProblem::Op &copy = problem.ops.emplace_back(original.ops[op]);
    for (unsigned &value : copy.operands)
      value = ids[value];
    for (unsigned &value : copy.results)
      value = ids[value];
  }
}
