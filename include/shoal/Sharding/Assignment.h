// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The choice of the sharding of every value, as a problem on plain values: a
// graph of ops with factor rules, and a cost in bytes. Knows no IR.

#ifndef SHOAL_SHARDING_ASSIGNMENT_H
#define SHOAL_SHARDING_ASSIGNMENT_H

#include "shoal/Sharding/FactorRule.h"
#include <vector>

namespace shoal {

/// What an annotation says of one dimension.
struct DimConstraint {
  /// Axes the dimension has, major to minor.
  AxisList axes;
  /// More axes may be added behind them.
  bool open = false;
  /// Propagation priority; 0 goes first.
  int64_t priority = 0;
};

/// What an annotation says of a value. The value is never partial there.
struct ShardingConstraint {
  llvm::SmallVector<DimConstraint, 4> dims;
  /// Axes that must not split any dimension.
  AxisList replicated;
};

struct AssignmentProblem {
  struct Value {
    llvm::SmallVector<int64_t> shape;
    int64_t elementBytes = 4;
  };
  /// When an op's suggestions spread, in propagation.
  enum class Priority { PassThrough, Restructuring, Contraction };
  struct Op {
    FactorRule rule;
    /// Ids of values, an argument op having no operand, the op that stands for
    /// a program result no result.
    llvm::SmallVector<unsigned, 2> operands;
    llvm::SmallVector<unsigned, 1> results;
    Priority priority = Priority::PassThrough;
    /// On an argument, program result or annotation op, whose rule is the
    /// elementwise one of its only value.
    std::optional<ShardingConstraint> constraint;
    /// For messages: what the program calls it.
    std::string label;
  };

  Mesh mesh;
  std::vector<Value> values;
  /// In program order: an operand is a result of an earlier op.
  std::vector<Op> ops;
};

} // namespace shoal

#endif // SHOAL_SHARDING_ASSIGNMENT_H
