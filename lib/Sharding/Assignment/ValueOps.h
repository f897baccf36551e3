// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What can be said of a problem without prices: neighbours, and layers that
// repeat.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_VALUEOPS_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_VALUEOPS_H

#include "shoal/Sharding/Assignment.h"
#include <optional>

namespace shoal::assignment {

/// Which op makes each value, and which read it.
struct ValueOps {
  explicit ValueOps(const AssignmentProblem &problem);

  std::vector<unsigned> makerOf;
  std::vector<llvm::SmallVector<unsigned, 4>> usersOf;
};

/// Elements of a value.
int64_t numElements(const AssignmentProblem &problem, unsigned value);

/// A set in which the op is linear and that has the value wherever the op reads
/// it; nothing where the op needs it whole.
std::optional<unsigned> findLinearSet(const AssignmentProblem::Op &op,
                                      unsigned value);

// A shift takes each op of a layer to the same op of the next layer. It follows
// from one pair, such as the router of a layer and that of the next: what makes
// the first one's operands is taken to what makes the second one's, and the
// users of its results to those of the other's.

inline constexpr unsigned kNoOp = ~0u;

/// Ops of one kind are alike but for their neighbours: `kinds`. Those of one
/// colour have neighbours of equal kinds, too, as far as kRounds steps away
/// (colour refinement, Weisfeiler and Leman).
class Colours {
public:
  Colours(const AssignmentProblem &problem, const ValueOps &valueOps);

  std::vector<uint64_t> kinds, colours;

private:
  void refine(const AssignmentProblem &problem, const ValueOps &valueOps);
};

/// Where the shift takes each op, and what it takes there; or kNoOp.
struct Shift {
  explicit Shift(size_t numOps)
      : next(numOps, kNoOp), previous(numOps, kNoOp) {}
  std::vector<unsigned> next, previous;
};

/// The shift that takes one op to the other, as far as neighbours are alike.
Shift findShift(const AssignmentProblem &problem, const ValueOps &valueOps,
                const Colours &colours, unsigned from, unsigned to);

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_VALUEOPS_H
