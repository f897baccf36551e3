// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What propagation suggests for every value, with where it came from.

#ifndef SHOAL_SHARDING_HINTS_H
#define SHOAL_SHARDING_HINTS_H

#include "shoal/Sharding/Sharding.h"
#include <optional>
#include <vector>

namespace shoal {

struct AssignmentProblem;

/// What propagation knows of one axis on one value.
struct AxisHint {
  enum State {
    Unknown,
    /// An annotation keeps the axis off the value.
    Unsplit,
    Split
  };
  State state = Unknown;
  /// The dimension that is Split.
  unsigned dim = 0;
  /// The op whose constraint it came from, and the op it came through: the
  /// same where the constraint stands at the value itself.
  unsigned annotation = 0, via = 0;
  /// The value that it was read from.
  std::optional<unsigned> from;
};

class Hints {
public:
  Hints() = default;
  Hints(const AssignmentProblem &problem, AxisList axisOrder);

  const AxisHint &at(unsigned value, AxisId axis) const {
    return hints[value][axis];
  }
  /// Unknown axes replicate; axes of one dimension stand in the preferred
  /// order.
  Sharding sharding(unsigned value) const;
  /// The ops that the hint came through, from the annotation on.
  llvm::SmallVector<unsigned> chain(unsigned value, AxisId axis) const;

  /// Gives ops and values other numbers: those of today are the indices of
  /// these lists.
  void renumber(llvm::ArrayRef<unsigned> ops, llvm::ArrayRef<unsigned> values);

private:
  friend class Propagation;
  AxisList axisOrder;
  std::vector<llvm::SmallVector<AxisHint, 4>> hints;
  std::vector<size_t> ranks;
};

/// All axes in the order in which they stand where several split one
/// dimension: the mesh's, but where a constraint lists two axes the other way
/// round, that, the first constraint first, and those that constraints name
/// before those that none names.
AxisList preferredAxisOrder(const AssignmentProblem &problem);

} // namespace shoal

#endif // SHOAL_SHARDING_HINTS_H
