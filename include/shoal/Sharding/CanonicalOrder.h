// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// One order of the ops of a problem among all that mean the same.

#ifndef SHOAL_SHARDING_CANONICALORDER_H
#define SHOAL_SHARDING_CANONICALORDER_H

#include "shoal/Sharding/Assignment.h"

namespace shoal {

/// The ops of a problem in an order that depends on what uses what alone, so
/// that whatever is decided by order is the same for all orders of independent
/// ops.
///
/// Depth first from the program's results, in their order, operands in theirs:
/// an op's number is that of its end. Ops that no result needs come last. The
/// operands of an op that joins values around a loop come after it where they
/// did; they are walked to once the walk from a result is done.
std::vector<unsigned> canonicalOrder(const AssignmentProblem &problem);

/// A problem with its ops in another order, and its values numbered by it.
struct ReorderedProblem {
  /// `order` lists all ops; operands are results of earlier ops as they were.
  ReorderedProblem(const AssignmentProblem &original,
                   std::vector<unsigned> order);

  AssignmentProblem problem;
  /// For each op and value of `problem` its number in the original.
  std::vector<unsigned> ops, values;

  /// What is indexed by op, or by value, of `problem`, indexed as in the
  /// original.
  template <typename T>
  std::vector<T> opsBack(std::vector<T> list) const {
    return back(std::move(list), ops);
  }
  template <typename T>
  std::vector<T> valuesBack(std::vector<T> list) const {
    return back(std::move(list), values);
  }

private:
  template <typename T>
  static std::vector<T> back(std::vector<T> list,
                             const std::vector<unsigned> &originals) {
    std::vector<T> result(list.size());
    for (size_t i = 0; i < list.size(); ++i)
      result[originals[i]] = std::move(list[i]);
    return result;
  }
};

/// propagateHints of a problem that is in canonical order already.
Hints propagateInOrder(const AssignmentProblem &problem);

} // namespace shoal

#endif // SHOAL_SHARDING_CANONICALORDER_H
