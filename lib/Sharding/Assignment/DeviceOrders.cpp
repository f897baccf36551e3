// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Sharding/DeviceOrders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include <numeric>
#include <optional>

using namespace shoal;
using Problem = AssignmentProblem;

/// Over all ops, at most: most are where they stay after the first.
static constexpr unsigned kMostSweeps = 4;

/// Annotations and parts for one device say which mesh they are over.
static bool isGiven(const Problem::Op &op) {
  return op.constraint || !op.manualAxes.empty();
}

static double bytesOf(const Problem::Value &value) {
  double elements = std::accumulate(value.shape.begin(), value.shape.end(), 1.0,
                                    std::multiplies<>());
  return elements * static_cast<double>(value.elementBytes) * value.weight;
}

namespace {

/// The ops by the values between them.
class Orders {
public:
  explicit Orders(Problem &problem)
      : problem(problem), makers(problem.values.size()),
        users(problem.values.size()) {
    for (auto [number, op] : llvm::enumerate(problem.ops)) {
      for (unsigned value : op.results)
        makers[value] = number;
      for (unsigned value : op.operands)
        users[value].push_back(number);
    }
  }

  void followOperands();
  bool improve();

private:
  /// Bytes of the values that have to change their order beside this op, were
  /// it over `order`.
  double costOf(unsigned op, unsigned order) const;
  unsigned orderOf(unsigned op) const { return problem.ops[op].deviceOrder; }

  Problem &problem;
  std::vector<unsigned> makers;
  std::vector<llvm::SmallVector<unsigned, 2>> users;
};

} // namespace

/// Each op goes to the largest operand that is somewhere, so that what one
/// annotation asks for reaches the next.
void Orders::followOperands() {
  std::vector<bool> isSomewhere(problem.values.size());
  for (Problem::Op &op : problem.ops) {
    std::optional<unsigned> largest;
    for (unsigned value : op.operands)
      if (isSomewhere[value] &&
          (!largest ||
           bytesOf(problem.values[value]) > bytesOf(problem.values[*largest])))
        largest = value;
    if (!isGiven(op) && largest)
      op.deviceOrder = orderOf(makers[*largest]);
    for (unsigned value : op.results)
      isSomewhere[value] = isGiven(op) || largest;
  }
}

double Orders::costOf(unsigned number, unsigned order) const {
  const Problem::Op &op = problem.ops[number];
  double bytes = 0;
  for (unsigned value : op.operands) {
    auto isThere = [&](unsigned user) {
      return user != number && orderOf(user) == order;
    };
    if (orderOf(makers[value]) != order && llvm::none_of(users[value], isThere))
      bytes += bytesOf(problem.values[value]);
  }
  for (unsigned value : op.results) {
    llvm::SmallSet<unsigned, 2> others;
    for (unsigned user : users[value])
      if (orderOf(user) != order)
        others.insert(orderOf(user));
    bytes +=
        static_cast<double>(others.size()) * bytesOf(problem.values[value]);
  }
  return bytes;
}

/// Where it is as cheap, ops go to their users, and take with them what they
/// are made of: a vector moves and not what it is broadcast to.
bool Orders::improve() {
  bool changes = false;
  for (size_t number = problem.ops.size(); number-- > 0;) {
    Problem::Op &op = problem.ops[number];
    if (isGiven(op))
      continue;
    unsigned best = op.deviceOrder;
    double least = costOf(number, best);
    for (unsigned value : op.results)
      for (unsigned user : users[value])
        if (double bytes = costOf(number, orderOf(user)); bytes <= least)
          std::tie(best, least) = std::pair(orderOf(user), bytes);
    for (unsigned value : op.operands)
      if (unsigned order = orderOf(makers[value]);
          costOf(number, order) < least)
        std::tie(best, least) = std::pair(order, costOf(number, order));
    changes |= best != op.deviceOrder;
    op.deviceOrder = best;
  }
  return changes;
}

void shoal::chooseDeviceOrders(AssignmentProblem &problem) {
  if (problem.deviceOrders.size() < 2)
    return;
  Orders orders(problem);
  orders.followOperands();
  for (unsigned sweep = 0; sweep < kMostSweeps && orders.improve(); ++sweep)
    ;
}
